/** A table of one row: the tasks of the whole node, which no cgroup counts. In the buffer of the usage table, with the same writer and readers. */
import { f64, type Row } from './table-layout.ts';
import { defineTable } from './typed-table.ts';

const fields = {
  /** Wall-clock ms. */
  readAtMs: f64,
  /** The number of tasks. NaN here and below: not known. */
  running: f64,
  /** The most tasks that the kernel allows. */
  max: f64,
};
export type NodeTasksFields = typeof fields;
export type NodeTasks = Row<NodeTasksFields>;

export const nodeTasksTable = defineTable('tasks', fields);
