/** Before and after every id, for a list without a cursor: a condition without `or` is one an index can serve. */
export const firstId = "00000000-0000-0000-0000-000000000000";
export const lastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";
