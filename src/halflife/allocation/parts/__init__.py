"""The schedule of ``allocate``, for items stored in parts that are never merged.

Three passes over the parts, each of which returns little data:

1. A histogram of ln(first), the logarithm of an item's first price, weighed by its
   demand. It gives the price to about one in ten million.
2. At that price, exactly: the demand, its slope, and one by one the items so near to
   their first price that a slope does not describe them. That is the demand at every
   price in a narrow bracket, and the price at which it meets the budget.
3. The frequencies at the price, checked as they are written: what they spend, and how
   far each item's worth is from the price.

The second pass is done again where the first price was not near enough. Sums are taken
block by block and part by part in a fixed order, so that the same parts give the same
bytes for any executor.
"""

from halflife.allocation.parts.items import ArrayPart, ItemColumns, ItemPart
from halflife.allocation.parts.solver import PartedAllocation, allocate_parts

__all__ = [
    "ArrayPart",
    "ItemColumns",
    "ItemPart",
    "PartedAllocation",
    "allocate_parts",
]
