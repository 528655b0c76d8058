"""Pure figures: a replayed run goes in, plain data for a canvas, an SVG or a table comes out. No dash import."""
