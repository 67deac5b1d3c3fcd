/** The kubelet's chains in the packet filter of its host, in a network namespace per kubelet. Time passes six times as fast: flushes are looked for each minute. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test, type TestContext } from 'node:test';
import { fastTime, kubeletEnvironment } from '../support/kubelet/kubelet-environment.ts';
import { ensureBuilt, kubeletPath, RunningKubelet } from '../support/kubelet/kubelet-command.ts';
import { prepareKubelet } from '../support/kubelet/prepared-kubelet.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const timeoutMs = 60_000;

const otherTables = `*mangle
:PREROUTING ACCEPT
:INPUT ACCEPT
:FORWARD ACCEPT
:OUTPUT ACCEPT
:POSTROUTING ACCEPT
:KUBE-IPTABLES-HINT -
:KUBE-KUBELET-CANARY -
*nat
:PREROUTING ACCEPT
:INPUT ACCEPT
:OUTPUT ACCEPT
:POSTROUTING ACCEPT
:KUBE-KUBELET-CANARY -`;
/** The rules and chains of the Go kubelet in an empty network namespace, with iptables 1.8.9 of either variant. */
const chainsOfTheGoKubelet = {
  IPv4: `*filter
:INPUT ACCEPT
:FORWARD ACCEPT
:OUTPUT ACCEPT
:KUBE-FIREWALL -
:KUBE-KUBELET-CANARY -
-A INPUT -j KUBE-FIREWALL
-A OUTPUT -j KUBE-FIREWALL
-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP
${otherTables}`,
  IPv6: `*filter
:INPUT ACCEPT
:FORWARD ACCEPT
:OUTPUT ACCEPT
:KUBE-KUBELET-CANARY -
${otherTables}`,
};

type Variant = 'nft' | 'legacy' | 'absent';

interface Namespace {
  readonly kubelet: RunningKubelet;
  /** Runs a command in the kubelet's network. */
  readonly run: (command: string, ...args: string[]) => string;
}

/** Starts a kubelet in a new network namespace, with one variant of iptables in its PATH. */
async function startKubelet(t: TestContext, variant: Variant, fields: Record<string, unknown> = {}): Promise<Namespace> {
  const { folder, args } = await prepareKubelet(t, { makeIPTablesUtilChains: true, ...fields });
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const tool of ['sh', 'env', 'ip', 'unshare', 'readlink']) symlinkSync(which(tool), join(bin, tool));
  const program = variant === 'absent' ? null : which(`xtables-${variant}-multi`);
  if (program) for (const name of ['iptables', 'ip6tables']) symlinkSync(program, join(bin, name));
  const env = kubeletEnvironment({ PATH: bin, ...fastTime(6) });
  const command = [which('unshare'), '--net', which('sh'), '-c', 'ip link set lo up; exec "$@"', 'sh', kubeletPath, ...args];
  const kubelet = new RunningKubelet(command.slice(1), { command: which('unshare'), env });
  return {
    kubelet,
    run: (name, ...rest) =>
      execFileSync('nsenter', [`--net=/proc/${kubelet.pid}/ns/net`, name, ...rest], { encoding: 'utf8', stdio: 'pipe' }),
  };
}

function which(command: string): string {
  return execFileSync('sh', ['-c', `command -v ${command}`], { encoding: 'utf8' }).trim();
}

/** What `iptables-save` prints, without counters and comments, and the tables in order of their names. */
function chains({ run }: Namespace, variant: Variant, family: 'IPv4' | 'IPv6'): string {
  const text = run(`${family === 'IPv4' ? 'iptables' : 'ip6tables'}-${variant}-save`);
  const tables = text
    .replaceAll(/^(#.*|COMMIT)\n/gm, '')
    .replaceAll(/ \[\d+:\d+\]$/gm, '')
    .split(/^(?=\*)/m);
  return tables.toSorted().join('').trim();
}

const hasAll = (namespace: Namespace, variant: Variant) =>
  chains(namespace, variant, 'IPv4') === chainsOfTheGoKubelet.IPv4 && chains(namespace, variant, 'IPv6') === chainsOfTheGoKubelet.IPv6;

async function untilAll(namespace: Namespace, variant: Variant): Promise<void> {
  await waitUntil('all chains exist', () => hasAll(namespace, variant), timeoutMs).catch((err: unknown) => {
    // Shows the difference.
    assert.equal(chains(namespace, variant, 'IPv4'), chainsOfTheGoKubelet.IPv4, String(err));
    assert.equal(chains(namespace, variant, 'IPv6'), chainsOfTheGoKubelet.IPv6, String(err));
  });
}

before(ensureBuilt);

describe('the chains of the kubelet', { concurrency: true }, () => {
  for (const variant of ['nft', 'legacy'] as const) {
    test(`are those of the Go kubelet with iptables-${variant}, and return after a flush`, async (t) => {
      const namespace = await startKubelet(t, variant);
      await untilAll(namespace, variant);
      for (const command of ['iptables', 'ip6tables']) {
        for (const table of ['filter', 'nat', 'mangle']) {
          for (const flag of ['-F', '-X']) namespace.run(`${command}-${variant}`, '-w', '-t', table, flag);
        }
      }
      assert.ok(!hasAll(namespace, variant));
      await untilAll(namespace, variant);
    });
  }

  test('are not created with makeIPTablesUtilChains: false', async (t) => {
    const namespace = await startKubelet(t, 'nft', { makeIPTablesUtilChains: false });
    await waitUntil('the kubelet runs', () => /"Starting kubelet main sync loop"/.test(namespace.kubelet.stderr), timeoutMs);
    assert.equal(namespace.run('iptables-nft-save'), '');
    // The configuration that the kubelet logs has fields of that name.
    assert.doesNotMatch(namespace.kubelet.stderr.replace(/ config=<\n(?:\t.*\n)*/, ''), /iptables/);
  });

  test('are missing on a host without iptables, with a line in the log, and the kubelet runs on', async (t) => {
    const namespace = await startKubelet(t, 'absent');
    const line = '"No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain"';
    await waitUntil('the line is logged', () => namespace.kubelet.stderr.includes(line), timeoutMs);
    namespace.kubelet.kill('SIGTERM');
    const { code } = await namespace.kubelet.ended;
    assert.equal(code, 0);
  });
});
