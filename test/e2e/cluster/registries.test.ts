/** Pulls from real registries with TLS and authentication, and the plugins of image credentials, on a real runtime. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { busyboxArchive } from '../../../lab/containerd/local-images.ts';
import type { PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { DockerRegistry } from '../../support/kubelet/docker-registry.ts';
import { PrivateRegistry } from '../../support/kubelet/private-registry.ts';
import { registryPassword } from '../../support/kubelet/token-server.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

const pluginVersion = 'credentialprovider.kubelet.k8s.io/v1';
const audience = 'registry.example';

describe('a registry with TLS and authentication', () => {
  const hooks = new Cleanups();
  let node: TestClusterNode;
  let basic: DockerRegistry;
  let token: DockerRegistry;
  let folder: string;

  const secret = (name: string, server: string, password = registryPassword) =>
    node.kubectl(
      'create',
      'secret',
      'docker-registry',
      name,
      `--docker-server=${server}`,
      '--docker-username=me',
      `--docker-password=${password}`,
    );
  const create = (name: string, image: string, spec: Partial<PodSpec> = {}) =>
    node.create(name, { automountServiceAccountToken: false, containers: [aBusybox({ image, imagePullPolicy: 'IfNotPresent' })], ...spec });
  const untilWaiting = (name: string, ...reasons: string[]) =>
    node.until(name, `waits for ${reasons.join(' or ')}`, ({ status }) =>
      reasons.includes(status?.containerStatuses?.[0]?.state?.waiting?.reason ?? ''),
    );
  const untilPullFailed = (name: string) => untilWaiting(name, 'ErrImagePull', 'ImagePullBackOff');

  /** The requests that the plugin got. */
  const pluginRequests = () =>
    existsSync(join(folder, 'requests'))
      ? readFileSync(join(folder, 'requests'), 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as { image: string; serviceAccountToken?: string; serviceAccountAnnotations?: object })
      : [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'credential-plugins-'));
    hooks.after(() => rmSync(folder, { recursive: true }));
    const flags = writePlugins(folder);
    node = await TestClusterNode.start('cluster-registries', {
      flags,
      config: { serializeImagePulls: true },
      imagePullProgressTimeout: '8s',
    });
    hooks.after(() => node.destroy());
    const common = { archive: busyboxArchive, users: ['me', 'robot'] } as const;
    basic = await DockerRegistry.start(hooks, {
      ...common,
      name: 'basic.test',
      auth: 'basic',
      repositories: [
        'team/app',
        'team/digest',
        'team/untrusted',
        'plugin/app',
        'plugin/other',
        'account/app',
        'account/other',
        'hangs/app',
        'floods/app',
      ],
    });
    token = await DockerRegistry.start(hooks, {
      ...common,
      name: 'token.test',
      auth: 'token',
      repositories: ['team/app', 'team/other', 'team/behind'],
    });
    for (const registry of [basic, token]) registry.addTo(node.node);
    await secret('basic', 'basic.test');
    await secret('token', 'https://token.test/v1/');
    await secret('wrong', 'token.test', 'geraten');
    // The audience of a token for a plugin is not in the pod: the cluster must allow it (KEP-4412).
    await node.api
      .create('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
        metadata: { name: 'registry-audience' },
        rules: [{ apiGroups: [''], resources: [audience], verbs: ['request-serviceaccounts-token-audience'] }],
      })
      .catch(() => {});
    await node.api
      .create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
        metadata: { name: 'registry-audience' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'registry-audience' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:nodes' }],
      })
      .catch(() => {});
  });
  after(async () => {
    await node?.kubectl('delete', 'pods', '--all', '--grace-period=1', '--wait=true').catch(() => {});
    await hooks.run();
  });

  test('basic authentication: by tag and by digest, with the pod’s secret', async () => {
    await create('by-tag', 'basic.test/team/app:1', { imagePullSecrets: [{ name: 'basic' }] });
    await create('by-digest', `basic.test/team/digest@${basic.digest}`, { imagePullSecrets: [{ name: 'basic' }] });
    await create('anonymous', 'basic.test/team/digest:1');
    const { status } = await node.untilRunning('by-digest');
    assert.match(status?.containerStatuses?.[0]?.imageID ?? '', new RegExp(basic.digest));
    await node.untilRunning('by-tag');
    await untilPullFailed('anonymous');
  });

  test('Bearer tokens: the secrets are tried in order, and a wrong password is refused', async () => {
    await create('bearer', 'token.test/team/app:1', { imagePullSecrets: [{ name: 'wrong' }, { name: 'token' }] });
    await create('refused', 'token.test/team/other:1', { imagePullSecrets: [{ name: 'wrong' }] });
    await node.untilRunning('bearer');
    const { status } = await untilPullFailed('refused');
    assert.match(status?.containerStatuses?.[0]?.state?.waiting?.message ?? '', /failed to pull and unpack image .*401 Unauthorized/);
    await node.untilEvent('refused', 'Failed', /^Failed to pull image "token\.test\/team\/other:1": .*401 Unauthorized/);
    await node.untilEvent('refused', 'Failed', /^Error: ErrImagePull$/);
  });

  test('a registry with an unknown authority is refused', async () => {
    basic.addTo(node.node, { ca: false });
    await create('untrusted', 'basic.test/team/untrusted:1', { imagePullSecrets: [{ name: 'basic' }] });
    await node.untilEvent('untrusted', 'Failed', /x509: certificate signed by unknown authority/);
    basic.addTo(node.node);
  });

  test('a registry that stalls delays serial pulls of other pods until the runtime gives up', async () => {
    const registry = await PrivateRegistry.start(hooks, busyboxArchive, {});
    registry.delayUntil(new Promise(() => {}));
    await create('stalled', `${registry.host}/team/app:1`);
    await node.untilEvent('stalled', 'Pulling', /^Pulling image /);
    await create('behind', 'token.test/team/behind:1', { imagePullSecrets: [{ name: 'token' }] });
    await node.untilEvent('stalled', 'Failed', /^Failed to pull image ".*": .*failed to pull and unpack image/);
    await node.untilRunning('behind');
    await node.delete('stalled', { gracePeriodSeconds: 1 });
  });

  test('an invalid image name is reported without a pull', async () => {
    await create('invalid', 'basic.test/Team/app:1');
    const { status } = await untilWaiting('invalid', 'InvalidImageName');
    assert.match(
      status?.containerStatuses?.[0]?.state?.waiting?.message ?? '',
      /^Failed to apply default image tag "basic\.test\/Team\/app:1": couldn't parse image name/,
    );
  });

  test('a credential plugin gives the login, once for a registry, beside one that fails', async () => {
    await create('plugin-one', 'basic.test/plugin/app:1');
    await node.untilRunning('plugin-one');
    await create('plugin-two', 'basic.test/plugin/other:1');
    await node.untilRunning('plugin-two');
    const runs = pluginRequests().filter(({ image }) => image.startsWith('basic.test/plugin/'));
    assert.deepEqual(runs, [{ kind: 'CredentialProviderRequest', apiVersion: pluginVersion, image: 'basic.test/plugin/app' }]);
    const metrics = await node.api.text(`${node.nodePath}/proxy/metrics`);
    assert.match(metrics, /^kubelet_credential_provider_plugin_errors_total\{plugin_name="failing"\} 2$/m);
    assert.match(metrics, /^kubelet_credential_provider_plugin_duration_count\{plugin_name="robot"\} 1$/m);
    assert.match(metrics, /^kubelet_credential_provider_config_info\{hash="sha256:[0-9a-f]{64}"\} 1$/m);
  });

  test('a plugin with tokens gets one of the pod’s service account, whose pods alone may use the image', async () => {
    for (const name of ['puller', 'stranger']) await node.kubectl('create', 'serviceaccount', name);
    await node.kubectl('annotate', 'serviceaccount', 'puller', 'registry.example/role=reader');
    await create('token-one', 'basic.test/account/app:1', { serviceAccountName: 'puller' });
    await node.untilRunning('token-one');
    const [request] = pluginRequests().filter(({ image }) => image === 'basic.test/account/app');
    const [, claims = ''] = request?.serviceAccountToken?.split('.') ?? [];
    const { aud, sub, ...others } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>;
    assert.deepEqual([aud, sub], [[audience], `system:serviceaccount:${node.namespace}:puller`]);
    assert.equal((others['kubernetes.io'] as { pod: { name: string } }).pod.name, 'token-one');
    assert.deepEqual(request?.serviceAccountAnnotations, { 'registry.example/role': 'reader' });
    const pulls = basic.requestsFor('account/app');
    await create('token-two', 'basic.test/account/app:1', { serviceAccountName: 'puller' });
    await create('token-stranger', 'basic.test/account/app:1', { serviceAccountName: 'stranger' });
    await node.untilRunning('token-two');
    await node.untilEvent('token-two', 'Pulled', /already present on machine and can be accessed by the pod$/);
    await untilPullFailed('token-stranger');
    assert.equal(basic.requestsFor('account/app'), pulls);
  });

  test('a plugin that prints without end is ended, and the pull uses the other credentials', async () => {
    await create('flooded', 'basic.test/floods/app:1', { imagePullSecrets: [{ name: 'basic' }] });
    await node.untilRunning('flooded');
    assert.match(
      node.node.log(),
      /credential provider plugin flooding for image basic\.test\/floods\/app: .*printed more than 1048576 bytes/,
    );
  });

  test('a plugin that hangs delays only the pods whose images it matches', async () => {
    await create('delayed', 'basic.test/hangs/app:1');
    await waitUntil('the plugin runs', () => existsSync(join(folder, 'hanging')), 60_000);
    await create('unaffected', 'basic.test/team/app:1', { imagePullSecrets: [{ name: 'basic' }] });
    await node.untilRunning('unaffected');
    const { status } = await node.get('delayed');
    assert.notEqual(status?.phase, 'Running');
  });
});

/** Writes the plugins and their configuration. Returns the kubelet's flags. */
function writePlugins(folder: string): string[] {
  const [bin, config] = [join(folder, 'bin'), join(folder, 'config')];
  for (const dir of [bin, config]) mkdirSync(dir);
  const auth = JSON.stringify({ 'basic.test': { username: 'robot', password: registryPassword } });
  const response = `{"kind":"CredentialProviderResponse","apiVersion":"${pluginVersion}","cacheKeyType":"Registry","cacheDuration":"1h","auth":${auth}}`;
  const scripts: Record<string, string> = {
    robot: `cat >> ${join(folder, 'requests')}\necho '${response}'`,
    failing: 'echo no metadata server >&2\nexit 1',
    account: `cat >> ${join(folder, 'requests')}\necho '${response.replace('Registry', 'Image')}'`,
    flooding: 'yes "a plugin without an end"',
    hanging: `touch ${join(folder, 'hanging')}\nsleep 1000`,
  };
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const tokenAttributes = {
    serviceAccountTokenAudience: audience,
    cacheType: 'ServiceAccount',
    requireServiceAccount: true,
    requiredServiceAccountAnnotationKeys: ['registry.example/role'],
  };
  const provider = (name: string, path: string, fields: object = {}) => ({
    name,
    matchImages: [`*.test/${path}`],
    defaultCacheDuration: '0s',
    apiVersion: pluginVersion,
    ...fields,
  });
  const providers = [
    provider('failing', 'plugin'),
    provider('robot', 'plugin'),
    provider('account', 'account', { tokenAttributes }),
    provider('hanging', 'hangs'),
    provider('flooding', 'floods'),
  ];
  writeFileSync(
    join(config, 'providers.json'),
    JSON.stringify({ apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig', providers }),
  );
  return [`--image-credential-provider-config=${config}`, `--image-credential-provider-bin-dir=${bin}`];
}
