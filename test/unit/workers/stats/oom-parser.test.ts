import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemOOMEvent } from '../../../../src/main/node/host/system-oom-event.ts';
import { OomParser, type OomKill } from '../../../../src/workers/stats/oom/oom-parser.ts';
import { table } from '../../../support/table.ts';

const first = 'stress invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=984';
const killed =
  'Killed process 4711 (stress (a)) total-vm:100kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:68kB oom_score_adj:984';
const summary = (from: string) => `oom-kill:constraint=${from},task=stress,pid=4711,uid=0`;
const inCgroup = (oom: string, task: string, cpuset = 'c1') =>
  summary(`CONSTRAINT_MEMCG,nodemask=(null),cpuset=${cpuset},mems_allowed=0,oom_memcg=${oom},task_memcg=${task}`);
const onNode = (task: string) => summary(`CONSTRAINT_NONE,nodemask=(null),cpuset=c,mems_allowed=0-1,global_oom,task_memcg=${task}`);
const aKill = (cgroup: string, isSystemOOM = false, processName = 'stress'): OomKill => ({ pid: 4711, processName, cgroup, isSystemOOM });

const scope = '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podf3a1_77.slice/cri-containerd-4c1f.scope';
const reports: { name: string; messages: string[]; want: OomKill[] }[] = [
  {
    name: 'a container above its limit, on Linux 6.x',
    messages: [
      'usb 1-1: new device',
      first,
      'CPU: 0 PID: 4711 Comm: stress Not tainted 6.8.0-31-generic #31-Ubuntu',
      'Call Trace:',
      'memory: usage 102400kB, limit 102400kB, failcnt 31',
      `Memory cgroup stats for ${scope}:`,
      'Tasks state (memory values in pages):',
      '[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name',
      '[   4711]     0  4711    26115    25430    25088      342         0   258048        0           984 stress',
      inCgroup(scope, scope, 'cri-containerd-4c1f.scope'),
      `Memory cgroup out of memory: ${killed}`,
      'oom_reaper: reaped process 4711 (stress), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB',
    ],
    want: [aKill(scope)],
  },
  {
    name: 'all processes of a container are one kill',
    messages: [
      first,
      inCgroup('/kubepods/pod1/c1', '/kubepods/pod1/c1'),
      `Memory cgroup out of memory: ${killed}`,
      'Tasks in /kubepods/pod1/c1 are going to be killed due to memory.oom.group set',
      'Memory cgroup out of memory: Killed process 4711 (stress) total-vm:1kB',
      'Memory cgroup out of memory: Killed process 4712 (sh) total-vm:1kB',
    ],
    want: [aKill('/kubepods/pod1/c1')],
  },
  { name: 'the limit of a pod', messages: [first, inCgroup('/kubepods/pod1', '/kubepods/pod1/c1')], want: [aKill('/kubepods/pod1/c1')] },
  { name: 'the limit of all pods', messages: [first, inCgroup('/kubepods', '/kubepods/pod1/c1')], want: [aKill('/kubepods/pod1/c1')] },
  { name: 'the limit of the root', messages: [first, inCgroup('/', '/kubepods/pod1/c1')], want: [aKill('/kubepods/pod1/c1', true)] },
  {
    name: 'a node without memory, on Linux 5.x',
    messages: [first, onNode('/kubepods/pod1/c1'), `Out of memory: ${killed}`],
    want: [aKill('/kubepods/pod1/c1', true)],
  },
  {
    name: 'a NUMA node without memory',
    messages: [first, summary('CONSTRAINT_CPUSET,nodemask=0,cpuset=/,mems_allowed=0,global_oom,task_memcg=/a')],
    want: [aKill('/a', true)],
  },
  {
    name: 'a container above its limit, on Linux 4.x',
    messages: [
      first,
      'stress cpuset=c1 mems_allowed=0',
      'Task in /kubepods/burstable/pod1/c1 killed as a result of limit of /kubepods/burstable/pod1',
      'Memory cgroup out of memory: Kill process 4711 (stress) score 1984 or sacrifice child',
      killed,
    ],
    want: [aKill('/kubepods/burstable/pod1/c1', false, 'stress (a)')],
  },
  {
    name: 'a node without memory, on Linux 4.x',
    messages: [first, 'Mem-Info:', 'Out of memory: Kill process 4711 (stress) score 984 or sacrifice child', killed],
    want: [aKill('/', true, 'stress (a)')],
  },
  {
    name: 'a kill of the root cgroup’s limit, on Linux 4.x',
    messages: [first, 'Task in /a killed as a result of limit of /', killed],
    want: [aKill('/a', true, 'stress (a)')],
  },
  { name: 'an end without a beginning', messages: [killed, `Out of memory: ${killed}`], want: [] },
  { name: 'a summary whose beginning was lost', messages: [inCgroup('/a', '/a/b'), killed], want: [aKill('/a/b')] },
  {
    name: 'a limit of a cgroup is no exhausted node, whatever else was lost',
    messages: [first, `Memory cgroup out of memory: ${killed}`],
    want: [aKill('/', false, 'stress (a)')],
  },
  {
    name: 'two reports',
    messages: [first, killed, first, inCgroup('/a', '/a')],
    want: [aKill('/', true, 'stress (a)'), aKill('/a')],
  },
];

const hostile: { name: string; messages: string[]; want: OomKill[] }[] = [
  {
    name: 'a file named as a message crashes a process',
    messages: [
      'x[12]: segfault at 0 ip 0000000000401136 sp 00007ffd error 6 in y invoked oom-killer: gfp_mask=0x0[401000+1000]',
      'x[13]: segfault at 0 ip 0000000000401136 sp 00007ffd error 6 in Killed process 4711 (stress)[401000+1000]',
      `x[14]: segfault at 0 ip 0000000000401136 sp 00007ffd error 6 in ${onNode('x')}[401000+1000]`,
    ],
    want: [],
  },
  {
    name: 'a process of a real report is named as a message',
    messages: [
      first,
      '[     12]     0    12     1    1     1     1       0    1        0     0 Killed process ',
      '[     13]     0    13     1    1     1     1       0    1        0     0 oom-kill:constr',
      inCgroup('/a', '/a'),
    ],
    want: [aKill('/a')],
  },
  {
    name: 'a process is named as the part of a message',
    messages: [inCgroup('/a', '/a/b').replace('task=stress', 'task=x,task=y')],
    want: [aKill('/a/b', false, 'x,task=y')],
  },
  {
    name: 'a process has a name of escaped bytes',
    messages: [
      `${String.raw`\x1b[2J\x5c\x0a`.padEnd(21, 'x')} invoked oom-killer: gfp_mask=0x0`,
      killed.replace('stress (a)', String.raw`\xf0\x9f\x98\x80)`),
    ],
    want: [aKill('/', true, String.raw`\xf0\x9f\x98\x80)`)],
  },
  {
    name: 'a cgroup is named as the end of a path, to count for another pod',
    messages: [inCgroup('/pod1/c1/a,task_memcg=/pod2/c2/x', '/pod1/c1/a,task_memcg=/pod2/c2/x')],
    want: [aKill('/pod1/c1/a,task_memcg=/pod2/c2/x')],
  },
  {
    name: 'a cgroup below the limited one is named as the end of a path',
    messages: [inCgroup('/pod1/c1', '/pod1/c1/a,task_memcg=/pod2/c2')],
    want: [aKill('/pod1/c1/a,task_memcg=/pod2/c2')],
  },
  {
    name: 'a cgroup is named as the mark of an exhausted node',
    messages: [inCgroup('/pod1/c1', '/pod1/c1/,mems_allowed=0,global_oom,task_memcg=/pod2')],
    want: [aKill('/pod1/c1/,mems_allowed=0,global_oom,task_memcg=/pod2')],
  },
  {
    name: 'a cpuset is named as the end of its name',
    messages: [inCgroup('/pod1/c1', '/pod1/c1', ',mems_allowed=0,global_oom,task_memcg=')],
    want: [aKill('/pod1/c1')],
  },
];

const aRecord = (message: string, { priority = 6, flags = '-' } = {}) =>
  `${priority},1,1000,${flags},caller=T4711;${message}\n SUBSYSTEM=x\n`;
const killsOf = (records: readonly string[]) => {
  const parser = new OomParser();
  return records.flatMap((record) => parser.add(record) ?? []);
};

table('the reports of the kernel’s OOM killer', (row) => {
  for (const { name, messages, want } of reports)
    row(name, () => assert.deepEqual(killsOf(messages.map((message) => aRecord(message))), want));
});

table('what tenants name does not pass for a report', (row) => {
  for (const { name, messages, want } of hostile)
    row(name, () => assert.deepEqual(killsOf(messages.map((message) => aRecord(message))), want));
});

test('a summary in several records, because another CPU wrote in between', () => {
  const [begin, middle, end] = [
    'oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)',
    ',cpuset=c1,mems_allowed=0',
    ',oom_memcg=/a,task_memcg=/a/b,task=x,pid=1,uid=0',
  ];
  const continued = { flags: 'c' };
  assert.deepEqual(
    killsOf([
      aRecord(first),
      aRecord(begin),
      aRecord('eth0: link up'),
      aRecord(middle, continued),
      aRecord(end, continued),
      aRecord(killed),
    ]),
    [{ pid: 1, processName: 'x', cgroup: '/a/b', isSystemOOM: false }],
  );
});

test('records that a process writes to the kernel’s log are ignored', () => {
  const written = { priority: 12 };
  assert.deepEqual(killsOf([aRecord(first, written), aRecord(killed, written), aRecord(inCgroup('/a', '/a'), written)]), []);
  assert.deepEqual(killsOf(['nonsense', '', first]), []);
});

test('after lost records no report continues', () => {
  const parser = new OomParser();
  parser.add(aRecord(first));
  parser.reset();
  assert.equal(parser.add(aRecord(killed)), undefined);
});

test('long names cost no time', () => {
  const long = `/a${',task_memcg=/a'.repeat(300)}`;
  const records = Array.from({ length: 50 }, () => aRecord(inCgroup(long, `${long}/b${',task='.repeat(500)}`)));
  assert.equal(killsOf(records).length, 50);
});

test('the event of the node has the victim if it is known', () => {
  const { message, reason, object } = systemOOMEvent('node-1', { pid: 4711, processName: 'stress' });
  assert.deepEqual([reason, object.name, message], ['SystemOOM', 'node-1', 'System OOM encountered, victim process: stress, pid: 4711']);
  assert.equal(systemOOMEvent('node-1', { pid: 0, processName: '' }).message, 'System OOM encountered');
});
