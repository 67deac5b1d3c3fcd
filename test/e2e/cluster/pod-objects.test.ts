/** API objects in volumes and variables: tokens, projected sources, owners and modes, objects that are created late. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

const account = '/var/run/secrets/kubernetes.io/serviceaccount';

describe('API objects in volumes and variables', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start('cluster-objects');
  });
  after(() => node?.destroy());

  const withVolumes = (
    sh: string | undefined,
    volumes: NonNullable<PodSpec['volumes']>,
    container: Parameters<typeof aBusybox>[0] = {},
  ) => ({
    containers: [
      aBusybox({
        ...(sh === undefined ? {} : { sh }),
        volumeMounts: volumes.map(({ name }) => ({ name, mountPath: `/${name}` })),
        ...container,
      }),
    ],
    volumes,
  });
  const untilReads = (name: string, file: string, wanted: string) =>
    waitUntil(
      `${file} of ${name} reads ${wanted}`,
      async () => (await node.exec(name, `cat ${file} 2>/dev/null || true`)) === wanted,
      60_000,
    );
  /** The user that the API server authenticates for a token. */
  const review = async (token: string, audiences?: readonly string[]) => {
    const body = { spec: { token, ...(audiences && { audiences }) } };
    const { status } = await node.api.create<{
      status: { authenticated?: boolean; user: { username?: string; extra?: Record<string, string[]> } };
    }>('/apis/authentication.k8s.io/v1/tokenreviews', body);
    return status;
  };

  test('the default token is bound to the pod, and survives a restart of the kubelet', async () => {
    const pod = await node.create('own-token');
    await node.untilRunning('own-token');
    const token = await node.exec('own-token', `cat ${account}/token`);
    const { authenticated, user } = await review(token);
    assert.equal(authenticated, true);
    assert.equal(user.username, `system:serviceaccount:${node.namespace}:default`);
    assert.deepEqual(user.extra?.['authentication.kubernetes.io/pod-uid'], [pod.metadata.uid]);
    assert.deepEqual(user.extra?.['authentication.kubernetes.io/node-name'], [node.nodeName]);
    await node.restartKubelet();
    await node.create('after-restart');
    await node.untilRunning('after-restart');
    assert.equal(await node.exec('own-token', `cat ${account}/token`), token);
    await node.delete('own-token');
    await node.untilGone('own-token');
    await waitUntil('the token is invalid', async () => (await review(token)).authenticated !== true, 30_000);
  });

  describe('while the kubelet runs', { concurrency: 4 }, () => {
    test('automountServiceAccountToken: false mounts no token', async () => {
      const output = await node.outputOf('no-token', {
        automountServiceAccountToken: false,
        containers: [aBusybox({ sh: `ls ${account} 2>&1 || true` })],
      });
      assert.match(output, /No such file/);
    });

    test('a projected volume combines its sources, each file with its mode', async () => {
      await node.kubectl('create', 'configmap', 'settings', '--from-literal=level=debug', '--from-literal=unused=x');
      await node.kubectl('create', 'secret', 'generic', 'login', '--from-literal=password=geheim');
      const sources = [
        { serviceAccountToken: { path: 'vault/token', audience: 'vault.example', expirationSeconds: 600 } },
        { configMap: { name: 'settings', items: [{ key: 'level', path: 'settings/log-level', mode: 0o444 }] } },
        { secret: { name: 'login' } },
        {
          downwardAPI: {
            items: [
              { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
              { path: 'cpu', resourceFieldRef: { containerName: 'app', resource: 'limits.cpu', divisor: '1m' } },
            ],
          },
        },
      ];
      const volumes = [{ name: 'all', projected: { defaultMode: 0o440, sources } }];
      await node.create('projected', withVolumes(undefined, volumes, { resources: { limits: { cpu: '300m' } } }), {
        labels: { app: 'projected' },
      });
      await node.untilRunning('projected');
      const files = 'settings/log-level password labels cpu';
      assert.equal(
        await node.exec('projected', `cd /all; for f in ${files}; do stat -L -c %a $f; cat $f; echo; done`),
        '444\ndebug\n440\ngeheim\n440\napp="projected"\n440\n300\n',
      );
      assert.equal(
        await node.exec('projected', 'ls /all; readlink /all/password; ls /all/settings'),
        'cpu\nlabels\npassword\nsettings\nvault\n..data/password\nlog-level\n',
      );
      const token = await node.exec('projected', 'cat /all/vault/token');
      assert.equal((await review(token, ['vault.example'])).authenticated, true);
      assert.notEqual((await review(token)).authenticated, true);
      const { exp, iat } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { exp: number; iat: number };
      assert.equal(exp - iat, 600);

      await node.kubectl('label', 'pod', 'projected', 'app=renamed', '--overwrite');
      await untilReads('projected', '/all/labels', 'app="renamed"');
      await node.kubectl('patch', 'configmap', 'settings', '-p', '{"data":{"level":"info"}}');
      await untilReads('projected', '/all/settings/log-level', 'info');
      assert.equal(await node.exec('projected', 'cat /all/vault/token'), token);
    });

    test('optional objects can be missing, and appear when they are created, as a subPath when the container restarts', async () => {
      const volumes = [
        { name: 'secret', secret: { secretName: 'perhaps', optional: true } },
        { name: 'map', configMap: { name: 'perhaps', optional: true, items: [{ key: 'a', path: 'b' }] } },
      ];
      const env = [
        { name: 'FROM_SECRET', valueFrom: { secretKeyRef: { name: 'perhaps', key: 'a', optional: true } } },
        { name: 'FROM_MAP', valueFrom: { configMapKeyRef: { name: 'perhaps', key: 'a', optional: true } } },
      ];
      const envFrom = [{ configMapRef: { name: 'perhaps', optional: true } }, { secretRef: { name: 'perhaps', optional: true } }];
      const subPath = aBusybox({
        name: 'sub-path',
        sh: '[ -f /part ] && sleep 1000; until [ -f /go/b ]; do sleep 0.1; done',
        volumeMounts: [
          { name: 'map', mountPath: '/part', subPath: 'b' },
          { name: 'map', mountPath: '/go' },
        ],
      });
      const pod = withVolumes(undefined, volumes, { env, envFrom });
      await node.create('optional', { ...pod, containers: [...pod.containers, subPath] });
      await node.untilRunning('optional');
      assert.equal(await node.exec('optional', 'echo "[$FROM_SECRET$FROM_MAP]"; ls /secret /map'), '[]\n/map:\n\n/secret:\n');
      await node.kubectl('create', 'secret', 'generic', 'perhaps', '--from-literal=a=secret');
      await node.kubectl('create', 'configmap', 'perhaps', '--from-literal=a=map');
      await untilReads('optional', '/secret/a', 'secret');
      await untilReads('optional', '/map/b', 'map');
      await node.until(
        'optional',
        'has restarted its container with the subPath',
        ({ status }) => status?.containerStatuses?.find(({ name }) => name === 'sub-path')?.restartCount === 1,
      );
      await waitUntil(
        'the subPath is a file',
        async () => (await node.kubectl('exec', 'optional', '-c', 'sub-path', '--', 'cat', '/part')) === 'map',
      );
    });

    test('envFrom takes a whole config map with a prefix; env overrides it', async () => {
      await node.kubectl('create', 'configmap', 'many', '--from-literal=A=1', '--from-literal=B=2', '--from-literal=dotted.name-x=3');
      const output = await node.outputOf('env-from', {
        containers: [
          aBusybox({
            command: ['env'],
            envFrom: [{ configMapRef: { name: 'many' } }, { prefix: 'P_', configMapRef: { name: 'many' } }],
            env: [
              { name: 'B', value: 'own' },
              { name: 'C', value: 'of $(A)' },
            ],
          }),
        ],
      });
      const lines = output.split('\n');
      for (const line of ['A=1', 'B=own', 'P_A=1', 'P_B=2', 'dotted.name-x=3', 'P_dotted.name-x=3', 'C=of 1'])
        assert.ok(lines.includes(line), `${line} in ${output}`);
    });

    test('an environment above the runtime’s limit is refused, and the node keeps working', async () => {
      const doubled = Array.from({ length: 60 }, (_, index) => ({ name: `V${index + 1}`, value: `$(V${index})$(V${index})` }));
      await node.create('doubled', { containers: [aBusybox({ env: [{ name: 'V0', value: 'x'.repeat(100) }, ...doubled] })] });
      const { status } = await node.until(
        'doubled',
        'shows CreateContainerConfigError',
        ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
      );
      assert.match(status?.containerStatuses?.[0]?.state?.waiting?.message ?? '', /^container "app": \$\(V15\): more than 6291456 bytes/);
      await node.create('after-doubled');
      await node.untilRunning('after-doubled');
    });

    test('resource fields without limits have the node’s allocatable', async () => {
      const { status } = await node.api.get<{ status: { allocatable: Record<string, string> } }>(node.nodePath);
      const output = await node.outputOf('resources', {
        containers: [
          aBusybox({
            sh: 'echo $CPU $MEMORY $REQUEST',
            env: [
              { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
              { name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Ki' } } },
              { name: 'REQUEST', valueFrom: { resourceFieldRef: { resource: 'requests.cpu', divisor: '1m' } } },
            ],
          }),
        ],
      });
      assert.equal(output, `${status.allocatable.cpu} ${status.allocatable.memory?.replace('Ki', '')} 0`);
    });

    test('fileKeyRef reads a file that an init container wrote', async () => {
      const output = await node.outputOf('env-file', {
        initContainers: [
          aBusybox({
            name: 'writes',
            sh: 'echo "WRITTEN=\'by the first\'" > /env/file',
            volumeMounts: [{ name: 'env', mountPath: '/env' }],
          }),
        ],
        containers: [
          aBusybox({
            sh: 'echo "$TAKEN"',
            env: [{ name: 'TAKEN', valueFrom: { fileKeyRef: { volumeName: 'env', path: 'file', key: 'WRITTEN' } } }],
          }),
        ],
        volumes: [{ name: 'env', emptyDir: {} }],
      });
      assert.equal(output, 'by the first');
    });

    test('volume files belong to the fsGroup, the token to the pod’s only user', async () => {
      const volumes = [
        { name: 'secret', secret: { secretName: 'owned', defaultMode: 0o400 } },
        { name: 'scratch', emptyDir: {} },
      ];
      await node.kubectl('create', 'secret', 'generic', 'owned', '--from-literal=a=b');
      const output = await node.outputOf('owners', {
        securityContext: { runAsUser: 1000, fsGroup: 3000 },
        ...withVolumes(
          'stat -L -c "%u:%g %a" /secret/a; stat -c "%g %a" /scratch; cat /secret/a; echo; touch /scratch/x && stat -c %g /scratch/x',
          volumes,
        ),
      });
      assert.deepEqual(output.split('\n'), ['0:3000 440', '3000 2777', 'b', '3000']);
      const ownedByUser = await node.outputOf('owner', {
        securityContext: { runAsUser: 1000 },
        containers: [aBusybox({ sh: `stat -L -c "%u %a" ${account}/token; test -r ${account}/token && echo readable` })],
      });
      assert.equal(ownedByUser, '1000 600\nreadable');
    });

    test('an emptyDir of medium Memory is a tmpfs of its sizeLimit', async () => {
      const volumes = [{ name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '2Mi' } }];
      const output = await node.outputOf(
        'memory',
        withVolumes('grep " /memory " /proc/mounts | cut -d" " -f1,3; df -k /memory | tail -1 | tr -s " " | cut -d" " -f2', volumes),
      );
      assert.equal(output, 'tmpfs tmpfs\n2048');
    });

    test('a subPath of a config map keeps its content of the container’s start', async () => {
      await node.kubectl('create', 'configmap', 'parts', '--from-literal=part=one');
      await node.create('sub-path', {
        containers: [
          aBusybox({
            volumeMounts: [
              { name: 'parts', mountPath: '/whole' },
              { name: 'parts', mountPath: '/part', subPath: 'part' },
            ],
          }),
        ],
        volumes: [{ name: 'parts', configMap: { name: 'parts' } }],
      });
      await node.untilRunning('sub-path');
      await node.kubectl('patch', 'configmap', 'parts', '-p', '{"data":{"part":"two"}}');
      await untilReads('sub-path', '/whole/part', 'two');
      assert.equal(await node.exec('sub-path', 'cat /part'), 'one');
    });

    test('an immutable secret is read once for each pod and not watched, and a new pod sees a recreated one', async () => {
      const createSecret = (a: string) =>
        node.api.create(`/api/v1/namespaces/${node.namespace}/secrets`, {
          metadata: { name: 'fixed' },
          immutable: true,
          stringData: { a },
        });
      await createSecret('b');
      await node.create('of-fixed', withVolumes(undefined, [{ name: 'fixed', secret: { secretName: 'fixed' } }]));
      await node.untilRunning('of-fixed');
      assert.equal(await node.exec('of-fixed', 'cat /fixed/a'), 'b');
      await node.api.delete(`/api/v1/namespaces/${node.namespace}/secrets/fixed`);
      await createSecret('c');
      await node.create('of-fixed-too', withVolumes(undefined, [{ name: 'fixed', secret: { secretName: 'fixed' } }]));
      await node.untilRunning('of-fixed-too');
      assert.equal(await node.exec('of-fixed-too', 'cat /fixed/a'), 'c');
      const reads = node.requests(({ requestURI }) => requestURI.includes('secrets') && requestURI.includes('fixed'));
      assert.ok(reads.length >= 1 && reads.length <= 3, reads.join());
    });
  });
});
