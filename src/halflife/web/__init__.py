"""The pages that ``halflife serve`` shows in a browser."""
