"""Views: pages in the browser that show objects and simulations."""
