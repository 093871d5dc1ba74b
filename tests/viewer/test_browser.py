"""The browser of the tests: WebGL2 with textures of floats, messages of the console, its end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import browser as browsers
from browser import open_browser

pytestmark = pytest.mark.no_asan(reason="runs a browser, no C code")

COMBINE = """
const [shapes, q, width, height] = arguments;
const gl = document.createElement("canvas").getContext("webgl2");
if (!gl || !gl.getExtension("EXT_color_buffer_float")) throw new Error("no WebGL2 of floats");
const program = gl.createProgram();
for (const [kind, text] of [
  [gl.VERTEX_SHADER, `#version 300 es
void main() { gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0, 0, 1); }`],
  [gl.FRAGMENT_SHADER, `#version 300 es
precision highp float;
precision highp sampler2DArray;
uniform sampler2DArray shapes;
uniform float q[${q.length}];
out vec4 sum;
void main() {
  sum = vec4(0);
  for (int k = 0; k < ${q.length}; k++)
    sum += q[k] * texelFetch(shapes, ivec3(gl_FragCoord.xy, k), 0);
}`]]) {
  const shader = gl.createShader(kind);
  gl.shaderSource(shader, text);
  gl.compileShader(shader);
  if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS))
    throw new Error(gl.getShaderInfoLog(shader));
  gl.attachShader(program, shader);
}
gl.linkProgram(program);
if (!gl.getProgramParameter(program, gl.LINK_STATUS))
  throw new Error(gl.getProgramInfoLog(program));
gl.useProgram(program);
gl.bindTexture(gl.TEXTURE_2D_ARRAY, gl.createTexture());
gl.texStorage3D(gl.TEXTURE_2D_ARRAY, 1, gl.RGBA32F, width, height, q.length);
gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, 0, 0, 0, width, height, q.length, gl.RGBA, gl.FLOAT,
                 new Float32Array(shapes));
// without these a texture of 32 bits is incomplete, and reads as zeros
for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER])
  gl.texParameteri(gl.TEXTURE_2D_ARRAY, filter, gl.NEAREST);
gl.uniform1fv(gl.getUniformLocation(program, "q"), q);
gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
const target = gl.createRenderbuffer();
gl.bindRenderbuffer(gl.RENDERBUFFER, target);
gl.renderbufferStorage(gl.RENDERBUFFER, gl.RGBA32F, width, height);
gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.RENDERBUFFER, target);
gl.viewport(0, 0, width, height);
gl.drawArrays(gl.TRIANGLES, 0, 3);
const pixels = new Float32Array(4 * width * height);
gl.readPixels(0, 0, width, height, gl.RGBA, gl.FLOAT, pixels);
if (gl.getError() || gl.isContextLost()) throw new Error("WebGL reports an error");
return Array.from(pixels);
"""


def test_shaders_combine_layers_of_float_textures(browser, rng):
    width, height, r = 7, 5, 12
    shapes = rng.standard_normal((r, height, width, 4)).astype(np.float32)
    q = rng.standard_normal(r).astype(np.float32)
    browser.open("data:text/html,<title>floats</title>")
    found = browser.run(COMBINE, shapes.ravel().tolist(), q.tolist(), width, height)
    exact = np.tensordot(q.astype(float), shapes.astype(float), 1)
    largest = np.tensordot(abs(q), abs(shapes), 1).max()
    found = np.reshape(found, exact.shape)
    np.testing.assert_allclose(found, exact, rtol=0, atol=r * 2.0**-23 * largest)


def test_a_condition_is_awaited_and_the_console_is_read(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        "<script>console.log('begun'); setTimeout(() => { window.state = {steps: 3} }, 50)</script>"
    )
    browser.open(page.as_uri())
    assert browser.wait("window.state.steps") == 3
    assert any("begun" in message for message in browser.console())
    browser.run("onerror = () => { window.failed = true }; setTimeout(() => broken.page())")
    assert browser.wait("window.failed")
    (error,) = browser.errors()
    assert "broken is not defined" in error
    assert browser.errors() == []
    with pytest.raises(Exception, match="of this script"):
        browser.run("throw new Error('of this script')")


def test_nothing_is_left_of_a_browser():
    with open_browser() as opened:
        profile = Path(opened.driver.capabilities["chrome"]["userDataDir"])
        process = opened.driver.service.process
        assert profile.is_dir()
    assert process.poll() is not None
    assert not profile.parent.exists()


def test_a_missing_browser_skips_and_fails_in_continuous_integration(monkeypatch):
    monkeypatch.setattr(browsers.shutil, "which", lambda name: None)
    monkeypatch.setenv("CI", "false")
    with pytest.raises(pytest.skip.Exception, match="no chromium, chromedriver: install"):
        browsers.require_browser()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no chromium, chromedriver: install"):
        browsers.require_browser()
