// Shaders.  A surface is shaded as by render.py of the package, with lights that move with the
// camera; its vertices move by u = U q, its normals by T q (Barbic 2007, sections 2.12 and 3.6.2).

// Deformation, once a vertex: surfaces and edges share the result, because renderers evaluate
// vertices of triangles up to six times.
export const DEFORM = {
  vertex: `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec3 offset;
uniform sampler2DArray shapes;  // U: a layer a coordinate, a texel a vertex
uniform sampler2DArray tilts;   // T
uniform sampler2D amounts;      // q: a texel a coordinate
uniform int count;              // of coordinates
uniform bool tilted;            // there is T
out vec3 shifted;               // position and normal in the frame of the body
out vec3 bent;
out float far;                  // displacement
void main() {
  int width = textureSize(shapes, 0).x;
  ivec2 at = ivec2(gl_VertexID % width, gl_VertexID / width);
  vec3 u = offset;
  bent = normal;
  for (int j = 0; j < count; ++j) {
    float q = texelFetch(amounts, ivec2(j, 0), 0).r;
    u += q * texelFetch(shapes, ivec3(at, j), 0).xyz;
    if (tilted) bent += q * texelFetch(tilts, ivec3(at, j), 0).xyz;
  }
  shifted = position + u;
  far = length(u);
  gl_Position = vec4(0.0);
}`,
  fragment: `#version 300 es
precision highp float;
out vec4 pixel;
void main() { pixel = vec4(0.0); }`,
  captured: ["shifted", "bent", "far"],
};

// Pose, shared by surfaces and their edges.
const MOVED = `#version 300 es
precision highp float;
layout(location = 0) in vec3 shifted;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec3 colour;
layout(location = 3) in float displacement;
uniform vec4 turn;              // of a rigid body: quaternion
uniform vec3 place;
uniform mat4 camera;
uniform mat4 projection;
out vec3 moved;                 // position and normal in the world
out vec3 bent;

vec3 rotated(vec3 v) { return v + 2.0 * cross(turn.xyz, cross(turn.xyz, v) + turn.w * v); }

void pose() {
  moved = rotated(shifted) + place;
  bent = rotated(normal);
}
`;

export const MISSING = [0.62, 0.62, 0.62]; // colour of places without a value

export const SURFACE = {
  vertex: MOVED + `
layout(location = 4) in float level;  // on the scale of values, 0 to 254; 255: none
uniform float size;             // of a body of points: pixels at distance 1
out vec3 eye;                   // position in the frame of the camera
out vec3 facing;
out vec3 paint;
out float far;                  // displacement
out float part;                 // of the scale of values
out float missing;              // above 0 in triangles with a vertex without a value
void main() {
  pose();
  far = displacement;
  vec4 at = camera * vec4(moved, 1.0);
  eye = at.xyz;
  facing = mat3(camera) * bent;
  paint = colour;
  part = level / 254.0;
  missing = level > 254.5 ? 1.0 : 0.0;
  gl_Position = projection * at;
  gl_PointSize = max(size / gl_Position.w, 1.0);
}`,
  fragment: `#version 300 es
precision highp float;
in vec3 eye, facing, paint;
in float far, part, missing;
uniform bool flat_;             // normals of the triangles as they are now
uniform bool perspective;
uniform int painting;           // 0: one colour, 1: a colour a vertex, 2: by displacement, 3: by values
uniform vec4 colour;
uniform float largest;          // displacement of the last colour of the scale
uniform vec3 scale[6];
out vec4 pixel;
const vec3 KEY = normalize(vec3(-0.45, 0.75, 0.60)), FILL = normalize(vec3(0.80, 0.10, 0.45));

vec3 on_scale(float t) {
  float s = 5.0 * clamp(t, 0.0, 1.0);
  int k = min(int(s), 4);
  return mix(scale[k], scale[k + 1], s - float(k));
}

void main() {
  vec3 n = flat_ || dot(facing, facing) == 0.0 ? cross(dFdx(eye), dFdy(eye)) : facing;
  n = normalize(n);
  // open surfaces have two sides
  if ((perspective ? dot(n, -eye) : n.z) < 0.0) n = -n;
  vec3 base = painting == 0 ? colour.rgb : painting == 1 ? paint
    : painting == 2 ? on_scale(far / largest) : missing > 1e-3 ? vec3(${MISSING}) : on_scale(part);
  float shade = 0.58 + 0.12 * n.y + 0.36 * max(dot(n, KEY), 0.0) + 0.16 * max(dot(n, FILL), 0.0);
  float shine = pow(max(dot(n, normalize(KEY + vec3(0.0, 0.0, 1.0))), 0.0), 40.0);
  pixel = vec4(clamp(base * shade + 0.22 * shine, 0.0, 1.0), 1.0) * colour.a;
}`,
  captured: ["moved", "bent"],
};

export const EDGES = {
  vertex: MOVED + `
void main() {
  pose();
  vec4 at = camera * vec4(moved, 1.0);
  gl_Position = projection * at;
  gl_Position.z -= 2e-4 * gl_Position.w;  // in front of the surface
}`,
  fragment: `#version 300 es
precision highp float;
uniform vec4 colour;
out vec4 pixel;
void main() { pixel = vec4(colour.rgb, 1.0) * colour.a; }`,
};

export const DISCS = {
  vertex: `#version 300 es
precision highp float;
layout(location = 0) in vec3 position;
uniform mat4 camera, projection;
uniform float size;             // pixels
void main() {
  gl_Position = projection * camera * vec4(position, 1.0);
  gl_Position.z -= 4e-4 * gl_Position.w;
  gl_PointSize = size;
}`,
  fragment: `#version 300 es
precision highp float;
uniform vec4 colour;
out vec4 pixel;
void main() {
  vec2 at = 2.0 * gl_PointCoord - 1.0;
  float d = dot(at, at);
  if (d > 1.0) discard;
  pixel = vec4(d > 0.55 ? 0.55 * colour.rgb : colour.rgb, 1.0);
}`,
};

// An arrow is a body of revolution: position.x along it, from 0 to 1, position.yz around it.
export const ARROWS = {
  vertex: `#version 300 es
precision highp float;
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
uniform mat4 camera, projection;
uniform vec3 from, along;       // world
uniform float thick;            // radius of the head, world
out vec3 facing;
void main() {
  float size = max(length(along), 1e-12), head = min(3.0 * thick, 0.6 * size);
  vec3 x = along / size;
  vec3 y = normalize(abs(x.x) < 0.7 ? cross(x, vec3(1, 0, 0)) : cross(x, vec3(0, 1, 0)));
  vec3 z = cross(x, y);
  // position.x from 0 to 1 is the shaft, from 1 to 2 the head
  float at = position.x <= 1.0 ? position.x * (size - head) : size - head * (2.0 - position.x);
  vec3 p = from + at * x + thick * (position.y * y + position.z * z);
  facing = mat3(camera) * (normal.x * x + normal.y * y + normal.z * z);
  gl_Position = projection * camera * vec4(p, 1.0);
  gl_Position.z *= 0.2;         // visible through what is before it
}`,
  fragment: `#version 300 es
precision highp float;
in vec3 facing;
uniform vec4 colour;
out vec4 pixel;
void main() {
  vec3 n = normalize(facing);
  pixel = vec4(clamp(colour.rgb * (0.65 + 0.4 * max(n.y + 0.5 * n.z, 0.0)), 0.0, 1.0), 1.0);
}`,
};
