/** The pod spec as a container sees it on a real containerd, and the CRI configs that the runtime receives. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';
import type { Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';

describe('the pod spec in a container', { concurrency: 4 }, () => {
  let node: TestNode;
  before(async () => {
    node = await TestNode.start(null);
    await node.startKubelet();
  });
  after(() => node.destroy());

  /** Runs a shell command in a pod of that spec. Returns the terminated pod and the command's output. */
  async function outputOf(
    name: string,
    sh: string,
    container: object = {},
    spec: Partial<PodSpec> = {},
    metadata: Partial<Pod['metadata']> = {},
  ) {
    node.apply(aManifest(name, { restartPolicy: 'Never', containers: [aBusybox({ sh, ...container })], ...spec }, metadata));
    const pod = await node.until(name, 'has ended', ({ status }) => status?.phase === 'Succeeded' || status?.phase === 'Failed');
    const output = node.logsOf(pod, 'app');
    assert.equal(pod.status?.phase, 'Succeeded', `it printed ${output}`);
    return { pod, output };
  }

  test('environment: literals, expansion, the downward API, resources', async () => {
    const { pod, output } = await outputOf(
      'env',
      'echo $A; echo $B; echo $NAME $NAMESPACE $NODE $LABEL; echo $CPU $MEMORY; echo $POD_UID; echo "$(ESCAPED) arg"; test -n "$IP" -a -n "$HOST_IP"',
      {
        env: [
          { name: 'A', value: 'a' },
          { name: 'B', value: 'b of $(A), not of $$(A) or $(MISSING)' },
          { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
          { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
          { name: 'LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
          { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          { name: 'HOST_IP', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
          { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
          { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
          { name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
          { name: 'ESCAPED', value: 'expanded' },
        ],
        resources: { limits: { cpu: '250m', memory: '32Mi' } },
      },
      {},
      { labels: { app: 'demo' } },
    );
    assert.deepEqual(output.split('\n'), [
      'a',
      'b of a, not of $(A) or $(MISSING)',
      'env-test-node default test-node demo',
      '250 32',
      pod.metadata.uid,
      'expanded arg',
    ]);
  });

  test('limits reach the cgroups of the pod and of the container', async () => {
    node.apply(
      aManifest('limits', {
        containers: [aBusybox({ resources: { requests: { cpu: '100m' }, limits: { cpu: '200m', memory: '24Mi' } } })],
      }),
    );
    const pod = await node.untilRunning('limits');
    assert.equal(pod.status?.qosClass, 'Burstable');
    const id = pod.status?.containerStatuses?.[0]?.containerID?.slice('containerd://'.length) ?? '';
    const cgroup = `${node.cgroupRoot}/kubepods/burstable/pod${pod.metadata.uid}`;
    const read = (controller: string, ...path: string[]) => readFileSync(join('/sys/fs/cgroup', controller, ...path), 'utf8').trim();
    for (const path of [cgroup, `${cgroup}/${id}`]) {
      assert.equal(read('memory', path, 'memory.limit_in_bytes'), String(24 * 1024 * 1024), path);
      assert.equal(read('cpu', path, 'cpu.shares'), '102', path);
      assert.equal(read('cpu', path, 'cpu.cfs_quota_us'), '20000', path);
    }
  });

  test('users, groups, capabilities and a read-only root', async () => {
    const { output } = await outputOf(
      'user',
      'id -u; id -g; id -G; touch /x 2>/dev/null && echo writable || echo read-only; grep NoNewPrivs /proc/self/status; grep CapEff /proc/self/status; touch /data/y && stat -c %g /data/y',
      {
        securityContext: {
          runAsUser: 1000,
          runAsGroup: 2000,
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        },
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      },
      { securityContext: { fsGroup: 3000, supplementalGroups: [4000] }, volumes: [{ name: 'data', emptyDir: {} }] },
    );
    const [uid, gid, groups, root, noNewPrivileges, capabilities, fileGroup] = output.split('\n');
    assert.deepEqual([uid, gid, root, fileGroup], ['1000', '2000', 'read-only', '3000']);
    assert.deepEqual(new Set(groups?.split(' ')), new Set(['2000', '3000', '4000']));
    assert.match(noNewPrivileges ?? '', /1$/);
    assert.match(capabilities ?? '', /0000000000000000$/);
  });

  test('a root image with runAsNonRoot is refused with the reason', async () => {
    node.apply(aManifest('no-root', { containers: [aBusybox({ securityContext: { runAsNonRoot: true } })] }));
    const pod = await node.until(
      'no-root',
      'shows CreateContainerConfigError',
      ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
    assert.match(
      pod.status?.containerStatuses?.[0]?.state?.waiting?.message ?? '',
      /container has runAsNonRoot and image will run as root/,
    );
  });

  test('hostname, hosts file with aliases, and DNS', async () => {
    const { pod, output } = await outputOf(
      'names',
      'hostname; cat /etc/hosts; cat /etc/resolv.conf',
      {},
      {
        hostname: 'own-name',
        subdomain: 'sub',
        hostAliases: [{ ip: '192.0.2.9', hostnames: ['alias.test'] }],
        dnsPolicy: 'None',
        dnsConfig: { nameservers: ['192.0.2.53'], searches: ['example.test'], options: [{ name: 'ndots', value: '2' }] },
      },
    );
    assert.match(output, /^own-name\n# Kubernetes-managed hosts file\.\n/);
    assert.ok(pod.status?.podIP !== undefined || pod.status?.phase === 'Succeeded');
    assert.match(output, /192\.0\.2\.9\talias\.test/);
    assert.match(output, /search example\.test\nnameserver 192\.0\.2\.53\noptions ndots:2/);
  });

  test('the host’s network, PIDs and a shared process namespace', async () => {
    const { output } = await outputOf(
      'host',
      'ls /sys/class/net | tr "\\n" " "; echo; tr "\\0" " " < /proc/1/cmdline',
      {},
      { hostNetwork: true, hostPID: true },
    );
    const [networks = '', first = ''] = output.split('\n');
    const ofHost = Object.keys(networkInterfaces()).find((name) => name !== 'lo' && !name.startsWith('veth'));
    assert.ok(ofHost !== undefined && networks.split(' ').includes(ofHost), networks);
    assert.equal(first.trim(), readFileSync('/proc/1/cmdline', 'utf8').replaceAll('\0', ' ').trim());
    const shared = await outputOf(
      'shared',
      'sleep 0.5; for p in /proc/[0-9]*; do cat $p/comm; done',
      {},
      {
        shareProcessNamespace: true,
        containers: [
          aBusybox({ sh: 'sleep 0.5; for p in /proc/[0-9]*; do cat $p/comm; done' }),
          aBusybox({ name: 'other', sh: 'sleep 3' }),
        ],
      },
    );
    assert.match(shared.output, /catatonit/);
  });

  test('volumes: host paths by type, subPath, the downward API', async () => {
    const host = join(node.folder, 'host');
    mkdirSync(join(host, 'sub'), { recursive: true });
    writeFileSync(join(host, 'sub/file'), 'from the host');
    const { output } = await outputOf(
      'volumes',
      'cat /whole/sub/file; echo; cat /part/file; echo; cat /one; echo; cat /expanded/mark; cat /pod/labels; echo; test -L /pod/..data && echo linked; touch /whole/x 2>/dev/null || echo read-only',
      {
        env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        volumeMounts: [
          { name: 'host', mountPath: '/whole', readOnly: true },
          { name: 'host', mountPath: '/part', subPath: 'sub' },
          { name: 'host', mountPath: '/one', subPath: 'sub/file' },
          { name: 'scratch', mountPath: '/expanded', subPathExpr: 'of-$(POD)' },
          { name: 'pod', mountPath: '/pod' },
        ],
      },
      {
        initContainers: [
          aBusybox({
            name: 'first',
            sh: 'mkdir -p /s/of-volumes-test-node; echo marked > /s/of-volumes-test-node/mark',
            volumeMounts: [{ name: 'scratch', mountPath: '/s' }],
          }),
        ],
        volumes: [
          { name: 'host', hostPath: { path: host, type: 'Directory' } },
          { name: 'scratch', emptyDir: {} },
          { name: 'pod', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
        ],
      },
      { labels: { color: 'blue' } },
    );
    assert.deepEqual(output.split('\n'), [
      'from the host',
      'from the host',
      'from the host',
      'marked',
      'color="blue"',
      'linked',
      'read-only',
    ]);
  });

  test('a subPath that leaves its volume through a symlink is refused', async () => {
    const trap = join(node.folder, 'trap');
    mkdirSync(trap);
    symlinkSync('/etc', join(trap, 'out'));
    node.apply(
      aManifest('escape', {
        containers: [aBusybox({ volumeMounts: [{ name: 'trap', mountPath: '/out', subPath: 'out' }] })],
        volumes: [{ name: 'trap', hostPath: { path: trap } }],
      }),
    );
    const pod = await node.until(
      'escape',
      'shows CreateContainerConfigError',
      ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
    assert.match(pod.status?.containerStatuses?.[0]?.state?.waiting?.message ?? '', /subPath|subpath/);
  });

  test('a hostPath of the wrong type keeps the pod waiting with an event', async () => {
    node.apply(
      aManifest('wrong-type', {
        containers: [aBusybox({ volumeMounts: [{ name: 'missing', mountPath: '/missing' }] })],
        volumes: [{ name: 'missing', hostPath: { path: join(node.folder, 'nowhere'), type: 'Directory' } }],
      }),
    );
    await waitUntil(
      'the failed type check is logged',
      () =>
        /FailedMount.*hostPath type check failed, .*nowhere is not a directory, unable to determine its type: path .* does not exist/.test(
          node.log(),
        ),
      20_000,
    );
  });

  test('labels, annotations and config of sandbox and container match upstream', async () => {
    node.apply(
      aManifest(
        'described',
        {
          containers: [aBusybox({ ports: [{ containerPort: 80, name: 'http' }], lifecycle: { preStop: { exec: { command: ['true'] } } } })],
        },
        { labels: { app: 'described' }, annotations: { note: 'kept' } },
      ),
    );
    const pod = await node.untilRunning('described');
    const filter = { labelSelector: { 'io.kubernetes.pod.uid': pod.metadata.uid } };
    const { items } = await node.cri.runtime.call('listPodSandbox', { filter }, { deadlineMs: 5000 });
    const own = {
      'io.kubernetes.pod.name': 'described-test-node',
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': pod.metadata.uid,
    };
    assert.deepEqual(items[0]?.labels, { app: 'described', ...own });
    assert.equal(items[0]?.annotations.note, 'kept');
    assert.equal(items[0]?.annotations['kubernetes.io/config.source'], 'file');
    const { containers } = await node.cri.runtime.call('listContainers', { filter }, { deadlineMs: 5000 });
    assert.deepEqual(containers[0]?.labels, { 'io.kubernetes.container.name': 'app', ...own });
    const annotations = containers[0]?.annotations ?? {};
    assert.match(annotations['io.kubernetes.container.hash'] ?? '', /^[0-9a-f]+$/);
    assert.deepEqual(
      { ...annotations, 'io.kubernetes.container.hash': '' },
      {
        'io.kubernetes.container.hash': '',
        'io.kubernetes.container.restartCount': '0',
        'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
        'io.kubernetes.container.terminationMessagePolicy': 'File',
        'io.kubernetes.pod.terminationGracePeriod': '2',
        'io.kubernetes.container.preStopHandler': '{"exec":{"command":["true"]}}',
        'io.kubernetes.container.ports': '[{"name":"http","containerPort":80,"protocol":"TCP"}]',
      },
    );
  });
});
