import assert from 'node:assert/strict';
import { planRotation, type LogFolderFile } from '../../../../../src/workers/images/log-rotation/plan-rotation.ts';
import { table } from '../../../../support/table.ts';

const nowMs = new Date(2026, 0, 2, 3, 4, 5).getTime();
const rotated = '0.log.20260102-030405';
const file = (name: string, change: Partial<LogFolderFile> = {}): LogFolderFile => ({
  name: name === '' ? '0.log' : `0.log.${name}`,
  isFile: true,
  isCurrentLog: false,
  isInProgress: false,
  ...change,
});

interface PlanRow {
  readonly name: string;
  readonly files: readonly LogFolderFile[];
  readonly maxFiles?: number;
  readonly remove?: readonly string[];
  readonly compress?: readonly string[];
  readonly rotated?: string;
}
const rows: PlanRow[] = [
  { name: 'a first rotation only renames the log', files: [file('')] },
  { name: 'the previous rotation is compressed', files: [file(''), file('20260101-000000')], compress: ['20260101-000000'] },
  {
    name: 'five files are the log, the new rotation and three older ones',
    files: [
      file('20260101-000003.gz'),
      file('20260101-000001.gz'),
      file(''),
      file('20260101-000004'),
      file('20260101-000002.gz'),
      file('20251231-000000.gz'),
    ],
    remove: ['20251231-000000.gz', '20260101-000001.gz'],
    compress: ['20260101-000004'],
  },
  {
    name: 'with two files all older rotations are removed, oldest first',
    maxFiles: 2,
    files: [file(''), file('20260101-000002'), file('20260101-000001.gz')],
    remove: ['20260101-000001.gz', '20260101-000002'],
  },
  {
    name: 'an incomplete archive and a log that has an archive are removed and do not count',
    maxFiles: 4,
    files: [file(''), file('20260101-000001.gz'), file('20260101-000001'), file('20260101-000002'), file('20260101-000002.tmp')],
    remove: ['20260101-000001', '20260101-000002.tmp'],
    compress: ['20260101-000002'],
  },
  {
    name: 'an archive that is being written stays',
    files: [file(''), file('20260101-000001'), file('20260101-000001.tmp', { isInProgress: true })],
    compress: ['20260101-000001'],
  },
  {
    name: 'a second name of the current log is removed',
    files: [file('', { isCurrentLog: true }), file('20260101-000001', { isCurrentLog: true })],
    remove: ['20260101-000001'],
  },
  {
    name: 'folders and links with such names stay, and their names are not used',
    maxFiles: 2,
    files: [file(''), file('20260101-000001', { isFile: false }), file('20260102-030405', { isFile: false })],
    rotated: '0.log.20260102-030406',
  },
  {
    name: 'a folder with the name of an archive does not make its log unused',
    files: [file(''), file('20260101-000001'), file('20260101-000001.gz', { isFile: false })],
    compress: ['20260101-000001'],
  },
  { name: 'other files stay', maxFiles: 2, files: [file(''), file('bak'), file('1'), file('rotated.gz'), { ...file(''), name: '1.log' }] },
  {
    name: 'a rotation in the same second gets the next one',
    files: [file(''), file('20260102-030405.gz')],
    rotated: '0.log.20260102-030406',
  },
  {
    name: 'a rotation from a clock far ahead is the oldest',
    maxFiles: 3,
    files: [file(''), file('20990101-000000.gz'), file('20260101-000000')],
    remove: ['20990101-000000.gz'],
    compress: ['20260101-000000'],
  },
];
table('the plan of a rotation', (add) => {
  for (const { name, files, maxFiles = 5, remove = [], compress = [], rotated: want = rotated } of rows) {
    add(name, () => {
      const plan = planRotation({ log: '0.log', files, maxFiles, nowMs });
      const named = (names: readonly string[]) => names.map((each) => `0.log.${each}`);
      assert.deepEqual(plan, { remove: named(remove), compress: named(compress), rotated: want });
    });
  }
});
