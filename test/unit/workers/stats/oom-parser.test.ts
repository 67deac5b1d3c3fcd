import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemOOMEvent } from '../../../../src/main/node/host/system-oom-event.ts';
import { OomParser, type OomKill } from '../../../../src/workers/stats/oom/oom-parser.ts';
import { table } from '../../../support/table.ts';

const first = 'stress invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=984';
const killed = 'Killed process 4711 (stress (a)) total-vm:100kB, anon-rss:1kB';
const inCgroup = (oom: string, task: string) =>
  `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=${task},mems_allowed=0,oom_memcg=${oom},task_memcg=${task},task=stress,pid=4711,uid=0`;

const reports: { name: string; messages: string[]; want: OomKill[] }[] = [
  {
    name: 'a container above its limit',
    messages: ['usb 1-1: new device', first, 'CPU: 0 PID: 4711', inCgroup('/kubepods/pod1', '/kubepods/pod1/c1'), killed],
    want: [{ pid: 4711, processName: 'stress', cgroup: '/kubepods/pod1/c1', isSystemOOM: false }],
  },
  {
    name: 'a node without memory',
    messages: [
      first,
      'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=c,mems_allowed=0,global_oom,task_memcg=/kubepods/pod1/c1,task=stress,pid=4711,uid=0',
      `Out of memory: ${killed}`,
    ],
    want: [{ pid: 4711, processName: 'stress (a)', cgroup: '/kubepods/pod1/c1', isSystemOOM: true }],
  },
  {
    name: 'a kernel before 5.0',
    messages: [first, 'Task in /kubepods/pod1/c1 killed as a result of limit of /kubepods/pod1', killed],
    want: [{ pid: 4711, processName: 'stress (a)', cgroup: '/kubepods/pod1/c1', isSystemOOM: false }],
  },
  { name: 'an end without a beginning', messages: [killed, inCgroup('/a', '/b')], want: [] },
  {
    name: 'two reports',
    messages: [first, killed, first, inCgroup('/a', '/a')],
    want: [
      { pid: 4711, processName: 'stress (a)', cgroup: '/', isSystemOOM: true },
      { pid: 4711, processName: 'stress', cgroup: '/a', isSystemOOM: false },
    ],
  },
];
const killsOf = (records: readonly string[]) => {
  const parser = new OomParser();
  return records.flatMap((record) => parser.add(record) ?? []);
};

table('the reports of the kernel’s OOM killer', (row) => {
  for (const { name, messages, want } of reports) {
    row(name, () => assert.deepEqual(killsOf(messages.map((message, i) => `6,${i},1000,-;${message}\n SUBSYSTEM=x\n`)), want));
  }
});

test('records that a process writes to the kernel’s log are ignored', () => {
  assert.deepEqual(killsOf([`12,1,1,-;${first}\n`, `12,2,1,-;${killed}\n`]), []);
  assert.deepEqual(killsOf(['nonsense', '', first]), []);
});

test('the event of the node has the victim if it is known', () => {
  const { message, reason, object } = systemOOMEvent('node-1', { pid: 4711, processName: 'stress' });
  assert.deepEqual([reason, object.name, message], ['SystemOOM', 'node-1', 'System OOM encountered, victim process: stress, pid: 4711']);
  assert.equal(systemOOMEvent('node-1', { pid: 0, processName: '' }).message, 'System OOM encountered');
});
