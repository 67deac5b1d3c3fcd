/** The simulated runtime's state machine. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { Machine, type Container } from '../../../../lab/simulated-runtime/machine.ts';
import { ContainerConfig, PodSandboxConfig } from '../../../../src/shared/cri/generated/cri-v1.ts';

let machine: Machine;
// The hook is inside `describe`, because test files share one process and an outer hook would run for all of them.
describe('the simulated machine', () => {
  beforeEach(() => (machine = new Machine()));

  function aSandbox({ name = 'web', attempt = 0, network = 0 }: { name?: string; attempt?: number; network?: 0 | 2 } = {}) {
    const config = PodSandboxConfig.fromPartial({
      metadata: { name, namespace: 'default', uid: `uid-${name}`, attempt },
      logDirectory: '/var/log/pods/web',
      linux: { securityContext: { namespaceOptions: { network } } },
    });
    const sandbox = machine.reserveSandbox(config, '');
    machine.commitSandbox(sandbox, 1n);
    return sandbox;
  }

  function aContainer(state: Container['state'] = 'created', sandbox = aSandbox()): Container {
    const config = ContainerConfig.fromPartial({ metadata: { name: 'app' }, image: { image: 'nginx' }, logPath: 'app/0.log' });
    const container = machine.reserveContainer(sandbox.id, config, () => 'sha256:1');
    machine.commitContainer(container, 2n);
    if (state === 'created') return container;
    machine.beginStart(container.id);
    machine.markStarted(container, 3n);
    if (state === 'exited') machine.markExited(container, 4n, 1, '');
    if (state === 'unknown') container.state = 'unknown';
    return container;
  }

  test('a sandbox name is reserved at the start of the call and released after a failure or a removal', () => {
    const config = PodSandboxConfig.fromPartial({ metadata: { name: 'web', namespace: 'default', uid: 'u' } });
    const first = machine.reserveSandbox(config, '');
    assert.equal(machine.sandboxes.size, 0);
    assert.throws(() => machine.reserveSandbox(config, ''), /failed to reserve sandbox name "web_default_u_0": .* is reserved for/);
    machine.abandonSandbox(first);
    const second = machine.reserveSandbox(config, '');
    machine.commitSandbox(second, 1n);
    machine.deleteSandbox(second);
    machine.reserveSandbox(config, '');
  });

  test('a running sandbox has a unique address, and none with host network', () => {
    const [one, two, host] = [aSandbox({ name: 'one' }), aSandbox({ name: 'two' }), aSandbox({ name: 'host', network: 2 })];
    assert.match(one.ip, /^10\./);
    assert.notEqual(one.ip, two.ip);
    assert.equal(host.ip, '');
    assert.equal(machine.markSandboxStopped(one), true);
    assert.equal(machine.markSandboxStopped(one), false);
    assert.equal(one.ip, '');
  });

  test('a container with a missing image reserves no name', () => {
    const sandbox = aSandbox();
    const config = ContainerConfig.fromPartial({ metadata: { name: 'app' }, image: { image: 'absent' } });
    assert.throws(() => machine.reserveContainer(sandbox.id, config, () => undefined), /failed to resolve image "absent": not found/);
    machine.reserveContainer(sandbox.id, config, () => 'sha256:1');
  });

  test('a container fails to start when its sandbox ends during the start', () => {
    const container = aContainer();
    machine.beginStart(container.id);
    machine.markSandboxStopped(container.sandbox);
    assert.throws(() => machine.markStarted(container, 9n), /is not running/);
    assert.deepEqual([container.state, container.exitCode, container.reason], ['exited', 128, 'StartError']);
  });

  const starts: { name: string; state: Container['state']; error: RegExp | null }[] = [
    { name: 'a created container starts', state: 'created', error: null },
    { name: 'a running container does not start again', state: 'running', error: /container is in CONTAINER_RUNNING state/ },
    { name: 'an exited container does not start again', state: 'exited', error: /container is in CONTAINER_EXITED state/ },
  ];
  for (const { name, state, error } of starts) {
    test(name, () => {
      const container = aContainer(state);
      if (error) assert.throws(() => machine.beginStart(container.id), error);
      else assert.equal(machine.beginStart(container.id), container);
    });
  }

  const removals: { name: string; state: Container['state']; error: RegExp | null }[] = [
    { name: 'a created container can be removed', state: 'created', error: null },
    { name: 'an exited container can be removed', state: 'exited', error: null },
    { name: 'a running container is not removed', state: 'running', error: /container is still running, to stop first/ },
    { name: 'a container in an unknown state is not removed', state: 'unknown', error: /container state is unknown/ },
  ];
  for (const { name, state, error } of removals) {
    test(name, () => {
      const container = aContainer(state);
      if (error) assert.throws(() => machine.beginRemove(container), error);
      else machine.beginRemove(container);
    });
  }

  test('a starting container can not be started or removed by another call', () => {
    const container = aContainer();
    machine.beginStart(container.id);
    assert.throws(() => machine.beginStart(container.id), /already in starting state/);
    assert.throws(() => machine.beginRemove(container), /in starting state, can't be removed/);
  });

  test('a container exits once', () => {
    const container = aContainer('running');
    assert.equal(machine.markExited(container, 5n, 7, ''), true);
    assert.equal(machine.markExited(container, 6n, 8, ''), false);
    assert.deepEqual([container.exitCode, container.finishedAtNs], [7, 5n]);
  });
});
