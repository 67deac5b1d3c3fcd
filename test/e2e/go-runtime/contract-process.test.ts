/**
 * What Go's runtime and libraries do for a process and its files without a word: signals, limits, time zones, YAML, bytes that are no UTF-8. Each condition's
 * outcome stands in docs/go-runtime.md, beside the Go kubelet's.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { Agent, request } from 'undici';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import {
  aPod,
  enterNetwork,
  eth0,
  isRunning,
  lastOf,
  nodeName,
  podOf,
  startHost,
  type ContractHost,
} from '../../support/go-runtime/host.ts';
import { canConnect } from '../../support/kubelet/can-connect.ts';
import { assertOutcome } from '../../support/go-runtime/outcomes.ts';
import { aFolder, ensureBuilt } from '../../support/kubelet/kubelet-command.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

before(ensureBuilt);

/** Upstream reads the folder each second here, and this kubelet when a file appears. */
const unacceptedMs = 5000;

/** Upstream has no addresses on a standalone host. */
const statusMs = 30_000;
/** Of klog: errors and warnings. */
const isWarning = /^[EW]\d{4} /;
const scalarsOfTheConfiguration = `maxPods: 017
podPidsLimit: 1_000
registryPullQPS: 0x10
enableServer: yes
serializeImagePulls: off
clusterDomain: 2026-11-27
podCIDR: 12:30:45
notAField: 1
eventBurst: 5
eventBurst: 7
---
maxPods: 99
`;

const head = (name: string) => `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\n`;
const withValue = (name: string, value: string) => `${head(name)}spec:
  containers: [{name: app, image: "sim/run:1", env: [{name: A, value: ${value}}]}]
`;
const scalars = `${head('scalars')}  annotations: {date: 2026-11-27, nothing: ~}
spec:
  hostNetwork: on
  terminationGracePeriodSeconds: 017
  activeDeadlineSeconds: 1_000
  containers:
  - &one
    name: app
    image: sim/run:1
    env: [{name: TIME, value: 12:30:45}, {name: DATE, value: 2026-11-27}]
  - <<: *one
    name: merged
`;

const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');
const notUTF8 = Buffer.from([0xe9]);
/** By the name of the pod, which is that of its file too. */
const manifests: Readonly<Record<string, string | Buffer>> = {
  scalars,
  boolean: withValue('boolean', 'yes'),
  float: withValue('float', '1e3'),
  twice: `${aPod('twice')}  hostNetwork: true\n  hostNetwork: false\n`,
  mark: `\ufeff${aPod('mark')}`,
  utf16: utf16(aPod('utf16')),
  latin1: Buffer.concat([Buffer.from('# caf'), notUTF8, Buffer.from(`\n${aPod('latin1')}`)]),
  last: aPod('last'),
};

async function configz({ securePort }: ContractHost): Promise<Record<string, unknown>> {
  const insecure = new Agent({ connect: { rejectUnauthorized: false } });
  try {
    const { body } = await request(`https://127.0.0.1:${securePort}/configz`, { dispatcher: insecure });
    return ((await body.json()) as { kubeletconfig: Record<string, unknown> }).kubeletconfig;
  } finally {
    await insecure.close();
  }
}

/** Returns a pod, and a function of the name of a pod. Some of them are not accepted: they have some seconds once the pod is there. */
async function readPods(host: ContractHost, awaited: string, names: readonly string[]) {
  await waitUntil(`${awaited} is there`, () => podOf(host, awaited), 120_000);
  const found = await lastOf(
    () => podOf(host, awaited),
    ({ status }) => status?.hostIP !== undefined,
    statusMs,
  );
  const seen = new Set<string>();
  await lastOf(
    async () => {
      for (const name of names) if (await podOf(host, name)) seen.add(name);
      return seen.size;
    },
    (size) => size === names.length,
    unacceptedMs,
  );
  return [found, (name: string) => (seen.has(name) ? 'its pod exists' : 'no pod')] as const;
}

const values = (from: object, ...names: string[]) =>
  names.map((name) => `${name} ${JSON.stringify((from as Record<string, unknown>)[name])}`).join(', ');

test('scalars of YAML 1.1, manifests in other encodings, limits of open files, a time zone, signals', async (t) => {
  enterNetwork(`${eth0}; ip address add 10.9.0.2/24 dev eth0; ip address add 10.9.0.9/24 dev eth0; ip route add default via 10.9.0.1`);
  const hosts = join(aFolder(t), 'hosts');
  writeFileSync(hosts, `127.0.0.1 localhost\n10.9.0.9 ${nodeName}\n`);
  const host = await startHost(t, {
    config: { maxOpenFiles: 2048 },
    configText: scalarsOfTheConfiguration,
    setUp: `mount --bind ${hosts} /etc/hosts && ulimit -Sn 256 && ulimit -Hn 4096 && ulimit -s 512 && trap "" HUP`,
    env: { TZ: 'Asia/Kolkata' },
  });
  const { kubelet } = host;
  const limits = () => readFileSync(`/proc/${kubelet.pid}/limits`, 'utf8');
  assertOutcome(
    'scalars of YAML 1.1 in the configuration',
    values(
      await configz(host),
      'maxPods',
      'podPidsLimit',
      'registryPullQPS',
      'enableServer',
      'serializeImagePulls',
      'clusterDomain',
      'podCIDR',
    ),
  );

  const named = ['notAField', 'eventBurst', 'document'].filter((word) =>
    kubelet.stderr.split('\n').some((line) => isWarning.test(line) && line.includes(word)),
  );
  const { eventBurst, maxPods } = await configz(host);
  const [, stack] = /^Max stack size +(\d+)/m.exec(limits()) ?? [];
  assertOutcome('a limit of 512 KiB for the stack', stack === '524288' ? 'the kubelet runs' : `the limit is ${stack}`);
  assertOutcome(
    'an unknown field, a field twice (5, 7) and a second document in the configuration',
    `the kubelet starts, eventBurst ${JSON.stringify(eventBurst)}, maxPods ${JSON.stringify(maxPods)}, warnings name: ${named.join(', ') || 'none'}`,
  );

  const folder = join(host.folder, 'manifests');
  for (const [name, content] of Object.entries(manifests)) writeFileSync(join(folder, `${name}.yaml`), content);
  writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), notUTF8, Buffer.from('.yaml')]), aPod('byte'));
  const [found, outcomeOf] = await readPods(host, 'scalars', Object.keys({ ...manifests, byte: '' }));
  assertOutcome('a pod with `hostNetwork` on a standalone host whose name is in /etc/hosts', `hostIP ${found?.status?.hostIP ?? 'none'}`);
  const { metadata, spec } = found ?? ({ metadata: {}, spec: { containers: [] } } as unknown as Pod);
  const read = values(spec, 'hostNetwork', 'terminationGracePeriodSeconds', 'activeDeadlineSeconds');
  const { date, nothing } = metadata.annotations ?? {};
  const env = (spec.containers[0]?.env ?? []).map(({ name, value }) => `${name} ${JSON.stringify(value)}`).join(', ');
  assertOutcome('scalars of YAML 1.1 in a manifest', `${read}, date ${JSON.stringify(date)}, nothing ${JSON.stringify(nothing)}, ${env}`);
  assertOutcome('a merge key (`<<`) in a manifest', spec.containers.map(({ name }) => name).join(', '));
  assertOutcome('`value: yes` in a manifest', outcomeOf('boolean'));
  assertOutcome('`value: 1e3` in a manifest', outcomeOf('float'));
  assertOutcome('a manifest with a key twice', outcomeOf('twice'));
  assertOutcome('a manifest that starts with a byte order mark', outcomeOf('mark'));
  assertOutcome('a manifest in UTF-16', outcomeOf('utf16'));
  assertOutcome('a manifest with a byte that is no UTF-8', outcomeOf('latin1'));
  assertOutcome('a manifest whose file name has such a byte', outcomeOf('byte'));

  const [, soft, hard] = /^Max open files +(\d+) +(\d+)/m.exec(limits()) ?? [];
  assertOutcome('open files: soft limit 256, hard limit 4096, `maxOpenFiles: 2048`', `${soft} and ${hard}`);
  const inKolkata = new Date(Date.now() + 5.5 * 3600_000).toISOString().slice(5, 13).replace('-', '').replace('T', ' ');
  const last = kubelet.stderr
    .trim()
    .split('\n')
    .findLast((line) => /^[IWE]\d{4} /.test(line));
  assertOutcome(
    'the log with `TZ=Asia/Kolkata`',
    last?.slice(1, 8) === inKolkata ? 'times of that zone' : `${last?.slice(1, 8)}, where it is ${inKolkata}`,
  );

  const after = async (log: RegExp, what: string) => {
    const read = () => (isRunning(kubelet) ? (log.test(kubelet.stderr) ? what : 'is ignored') : 'ends the kubelet');
    return (await lastOf(read, (outcome) => outcome !== 'is ignored', unacceptedMs)) ?? '';
  };
  kubelet.kill('SIGHUP');
  assertOutcome('SIGHUP, which the parent ignores (`nohup`)', await after(/"Reloading the configuration"/, 'reloads the configuration'));
  kubelet.kill('SIGUSR1');
  const reaction = await after(/Debugger listening/, 'opens a port for debuggers');
  for (const signal of ['SIGUSR2', 'SIGALRM', 'SIGPWR', 'SIGIO'] as const) kubelet.kill(signal);
  assertOutcome('SIGUSR1, SIGUSR2, SIGALRM, SIGPWR and SIGIO', `${reaction}, port 9229 is ${(await canConnect(9229)) ? 'open' : 'closed'}`);
});
