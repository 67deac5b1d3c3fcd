/** The table of the seqlock’s stress test: all fields of a row have the same number, in every kind of field. */
import { f64, i64, boundedText, u32 } from '../../../src/shared/state/table-layout.ts';
import { defineTable } from '../../../src/shared/state/typed-table.ts';

export const stressTable = defineTable('stress', { first: u32, name: boundedText(40), ns: i64, last: f64 });
