import assert from 'node:assert/strict';
import { parseEvictionArgs } from '../../../../../src/main/cli/eviction/parse-args.ts';
import { renderEvictionPlan } from '../../../../../src/main/cli/eviction/render-plan.ts';
import type { EvictionPlan, PlannedThreshold, RankedPod } from '../../../../../src/shared/contracts/eviction.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { table } from '../../../../support/table.ts';

const mebibyte = 1024 * 1024;
const nowMs = Date.parse('2026-01-01T01:00:00Z');
const aThreshold = (over: Partial<PlannedThreshold> = {}): PlannedThreshold => ({
  signal: 'memory.available',
  resource: 'memory',
  kind: 'hard',
  value: '100Mi',
  quantity: 100 * mebibyte,
  minReclaim: null,
  minReclaimQuantity: null,
  available: 1024 * mebibyte,
  met: false,
  gracePeriodSeconds: 0,
  graceLeftSeconds: null,
  ...over,
});
const aPod = (name: string, over: Partial<RankedPod> = {}): RankedPod => ({
  namespace: 'default',
  name,
  uid: `uid-${name}` as PodUID,
  priority: 0,
  qosClass: 'Burstable',
  usage: 500 * mebibyte,
  request: 100 * mebibyte,
  exceedsRequest: true,
  notEvictableBecause: null,
  isEvicted: false,
  message: 'The node was low on resource: memory. ',
  gracePeriodSeconds: 0,
  ...over,
});
const aRanking = (pods: readonly RankedPod[]): EvictionPlan['ranking'] => ({ signal: 'memory.available', resource: 'memory', pods });
const aPlan = (over: Partial<EvictionPlan> = {}): EvictionPlan => ({
  plannedAt: '2026-01-01T01:00:00Z',
  lastPassAt: '2026-01-01T00:59:55Z',
  problem: null,
  filesystems: { dedicatedImageFs: false, splitContainerFs: false },
  pressureTransitionPeriodSeconds: 300,
  maxPodGracePeriodSeconds: 0,
  conditions: [{ type: 'MemoryPressure', status: false, lastObservedAt: null }],
  signals: [
    {
      signal: 'memory.available',
      resource: 'memory',
      available: 1024 * mebibyte,
      capacity: 4096 * mebibyte,
      observedAt: '2026-01-01T00:59:55Z',
      ageSeconds: 5,
    },
  ],
  thresholds: [aThreshold()],
  isReclaiming: false,
  action: null,
  ranking: aRanking([]),
  localStorageViolations: [],
  ...over,
});
const render = (over: Partial<EvictionPlan>) => renderEvictionPlan(aPlan(over), nowMs);
const ofMemory = (over: Partial<NonNullable<EvictionPlan['action']>>): EvictionPlan['action'] => ({
  signal: 'memory.available',
  resource: 'memory',
  threshold: '100Mi',
  nodeReclaim: [],
  victim: null,
  ...over,
});

table('the text of kubelet eviction', (row) => {
  row('without a met threshold it shows the order in which pods would go', () =>
    assert.deepEqual(
      render({
        ranking: aRanking([
          aPod('hog'),
          aPod('etcd', { notEvictableBecause: 'critical priority', priority: 2_000_001_000 }),
          aPod('new', { usage: null, exceedsRequest: null }),
          aPod('modest', { usage: 80 * mebibyte, exceedsRequest: false, priority: 1000 }),
        ]),
      }).split('\n'),
      [
        'The node is under no pressure.',
        '',
        'SIGNAL            AVAILABLE  CAPACITY  THRESHOLD   STATE',
        'memory.available  1.0 GiB    4.0 GiB   hard 100Mi  not met',
        '',
        'No threshold is met: nothing would be evicted. This is the order if memory.available ran out.',
        '',
        'Order: pods that use more than they request, then lower priorities, then those that use most over',
        'their request.',
        '',
        '#  POD             USAGE      OVER REQUEST  PRIORITY    RESULT',
        '1  default/hog     500.0 MiB  +400.0 MiB    0           would go first',
        '-  default/etcd    500.0 MiB  +400.0 MiB    2000001000  stays: critical',
        '2  default/new     unknown    unknown       0           stays for now',
        '3  default/modest  80.0 MiB   -20.0 MiB     1000        stays for now',
        '',
      ],
    ),
  );
  row('a met threshold names the pod, its message and its grace period', () => {
    const text = render({
      conditions: [{ type: 'MemoryPressure', status: true, lastObservedAt: '2026-01-01T00:59:48Z' }],
      thresholds: [aThreshold({ available: 50 * mebibyte, met: true, graceLeftSeconds: 0 })],
      action: ofMemory({ victim: 'uid-hog' as PodUID }),
      ranking: aRanking([aPod('hog'), aPod('next')]),
    });
    assert.match(
      text,
      /^The node has MemoryPressure: a threshold was last met 12 s ago\. It stays for 5 m 0 s after that\.\n\nSIGNAL.*\nmemory\.available +50\.0 MiB +4\.0 GiB +hard 100Mi +met$/m,
    );
    assert.match(text, /^The threshold 100Mi of memory\.available is met\. One pod would be evicted now\.$/m);
    assert.match(text, /^default\/hog is killed at once, with the message: The node was low on resource: memory\.$/m);
    assert.match(text, /^1 +default\/hog .* goes now\n2 +default\/next .* stays for now$/m);
  });
  row('what is reclaimed first may save the pod', () => {
    const text = render({
      thresholds: [aThreshold({ signal: 'nodefs.available', resource: 'ephemeral-storage', value: '10%', met: true, graceLeftSeconds: 0 })],
      action: ofMemory({
        signal: 'nodefs.available',
        threshold: '10%',
        nodeReclaim: ['deadContainers', 'unusedImages'],
        victim: 'uid-hog' as PodUID,
      }),
      ranking: { ...aRanking([aPod('hog', { gracePeriodSeconds: 30 })]), signal: 'nodefs.available' },
    });
    assert.match(
      text,
      /^The threshold 10% of nodefs\.available is met\. First, dead containers and unused images would be\nremoved\. If that frees too little, one pod would be evicted\.\ndefault\/hog has 30 s to end/m,
    );
    assert.match(text, / goes if needed$/m);
  });
  row('what has begun', () => {
    const text = render({
      isReclaiming: true,
      action: ofMemory({ victim: 'uid-next' as PodUID }),
      ranking: aRanking([aPod('ending', { isEvicted: true }), aPod('next')]),
    });
    assert.match(text, /^The threshold 100Mi of .* One pod would be evicted next\.$/m);
    assert.match(
      text,
      /^Unused images and dead containers are being removed\.\nEvicted, and not finished yet: default\/ending\. Others wait for that, up to their deadline\.$/m,
    );
    assert.match(text, /^- +default\/ending .* was evicted\n1 +default\/next .* goes next$/m);
  });
  row('a pod that was evicted for a soft threshold, when a hard one is met', () => {
    const text = render({
      action: ofMemory({ victim: 'uid-hog' as PodUID }),
      ranking: aRanking([aPod('hog', { isEvicted: true }), aPod('next')]),
    });
    assert.match(text, /is met\. A pod that was evicted would get a shorter grace\nperiod now\.$/m);
    assert.match(text, /^- +default\/hog .* was evicted, ends sooner\n1 +default\/next .* would go first$/m);
  });
  row('no pod may be left to evict', () => assert.match(render({ action: ofMemory({}) }), / is met\. No pod can be evicted now\.$/m));
  row('a node without pods', () => assert.match(render({}), /\n\nNo pods run on this node\.\n$/));
  row('the order of another signal than the one that is due', () =>
    assert.match(
      render({ action: ofMemory({ signal: 'nodefs.available' }) }),
      /No pod can be evicted now\.\nThe order below is the one for memory\.available\.$/m,
    ),
  );
  row('a soft threshold within its grace period', () => {
    const text = render({
      thresholds: [aThreshold({ kind: 'soft', value: '1Gi', met: true, gracePeriodSeconds: 30, graceLeftSeconds: 18 }), aThreshold()],
    });
    assert.match(text, /^memory\.available +1\.0 GiB +4\.0 GiB +soft 1Gi +met, 18 s of grace left$/m);
    assert.match(text, /^No threshold is met for longer than its grace period: nothing would be evicted\./m);
  });
  row('a soft threshold after its grace period', () =>
    assert.match(
      render({ thresholds: [aThreshold({ kind: 'soft', met: true, gracePeriodSeconds: 30, graceLeftSeconds: 0 })] }),
      / met, the grace period is over$/m,
    ),
  );
  row('signals without a threshold or without an observation', () =>
    assert.match(
      render({ thresholds: [aThreshold({ signal: 'pid.available', resource: 'pids', value: '10%', available: null })] }),
      /^pid\.available +unknown +unknown +hard 10% +not known\nmemory\.available +1\.0 GiB +4\.0 GiB +none$/m,
    ),
  );
  row('processes have no requests', () =>
    assert.match(
      render({
        ranking: { signal: 'pid.available', resource: 'pids', pods: [aPod('fork', { usage: 412, request: 0, exceedsRequest: null })] },
      }),
      /^Order: lower priorities, then the pods with the most processes\.\n\n# +POD +USAGE +PRIORITY +RESULT\n1 +default\/fork +412 +0 +would go first$/m,
    ),
  );
  row('pods over their local storage go before all others', () => {
    const violation = {
      namespace: 'default',
      uid: 'uid' as PodUID,
      signal: 'emptydirfs.limit',
      usedBytes: 30 * mebibyte,
      limitBytes: 20 * mebibyte,
      notEvictableBecause: null,
      message: '',
    } as const;
    const text = render({
      localStorageViolations: [
        { ...violation, name: 'full' },
        { ...violation, name: 'etcd', signal: 'ephemeralpodfs.limit', notEvictableBecause: 'static' },
      ],
    });
    assert.match(text, /^The next pass evicts the pod over a limit of local storage, and does nothing else\.$/m);
    assert.match(text, /^default\/full +emptyDir sizeLimit +30\.0 MiB +20\.0 MiB +goes now$/m);
    assert.match(text, /^default\/etcd +ephemeral-storage of the pod +30\.0 MiB +20\.0 MiB +stays: static$/m);
  });
  row('a pod over its local storage that is ending already', () => {
    const pod = aPod('full', { isEvicted: true });
    const violation = { ...pod, signal: 'emptydirfs.limit', usedBytes: 2, limitBytes: 1, notEvictableBecause: null } as const;
    const text = render({ localStorageViolations: [violation], ranking: aRanking([pod]) });
    assert.match(text, /^No threshold is met: nothing would be evicted\./m);
    assert.match(text, /^default\/full +emptyDir sizeLimit +2 B +1 B +was evicted$/m);
  });
  row('a manager that has not decided says why', () => {
    const text = render({ lastPassAt: null, problem: 'no usage\u001b[2J', signals: [], thresholds: [] });
    assert.match(text, /^The eviction manager has not looked at the node yet\.\nThe last pass could not decide: no usage\?\[2J$/m);
  });
  row('texts of tenants do not control the terminal, and rows fit into 100 columns', () => {
    const hostile = aPod('a\u001b[2J\u202e\n\r', { message: 'Container \u001b]0;x\u0007 used much', priority: -2_147_483_648 });
    const long = aPod('x'.repeat(253), {
      namespace: 'n'.repeat(63),
      usage: 1023.9 * mebibyte,
      notEvictableBecause: 'critical priority',
      priority: 2_000_001_000,
    });
    const emoji = aPod('\u{1f600}'.repeat(100));
    const text = render({ action: ofMemory({ victim: hostile.uid }), ranking: aRanking([hostile, long, emoji]) });
    assert.doesNotMatch(text, /[^\n\P{C}]/u);
    assert.match(text, /^1 +default\/a\?\[2J\?\?\? /m);
    assert.match(text, /message: Container \?\]0;x\? used much$/m);
    assert.ok(
      text.split('\n').every(({ length }) => length <= 100),
      text,
    );
  });
});

table('the arguments of kubelet eviction', (row) => {
  const defaults = { rootDir: '/var/lib/kubelet', json: false, signal: undefined };
  row('none', () => assert.deepEqual(parseEvictionArgs([]), defaults));
  row('JSON of another root directory', () =>
    assert.deepEqual(parseEvictionArgs(['--json', '--root-dir=/x']), { ...defaults, json: true, rootDir: '/x' }),
  );
  const signals: [string, string][] = [
    ['memory', 'memory.available'],
    ['nodefs', 'nodefs.available'],
    ['nodefs-inodes', 'nodefs.inodesFree'],
    ['imagefs', 'imagefs.available'],
    ['containerfs', 'containerfs.available'],
    ['pid', 'pid.available'],
    ['pid.available', 'pid.available'],
    ['allocatableMemory.available', 'allocatableMemory.available'],
  ];
  for (const [name, signal] of signals)
    row(`--signal ${name}`, () => assert.deepEqual(parseEvictionArgs(['--signal', name]), { ...defaults, signal }));
  row('help', () => assert.equal(parseEvictionArgs(['--json', '-h']), 'help'));
  const errors: [string[], RegExp][] = [
    [['pod'], /^unexpected argument: pod$/],
    [['--signal', 'cpu'], /^--signal must be one of memory, .*, pid: cpu$/],
    [['--signal=__proto__'], /^--signal must be one of .*: __proto__$/],
    [['--signal'], /^flag needs an argument: --signal$/],
    [['--evict'], /^unknown flag: --evict$/],
  ];
  for (const [args, message] of errors) row(args.join(' '), () => assert.throws(() => parseEvictionArgs(args), { message }));
});
