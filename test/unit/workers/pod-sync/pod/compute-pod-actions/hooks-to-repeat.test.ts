import type { Container } from '../../../../../../src/shared/kubernetes/api.ts';
import { containerHash } from '../../../../../../src/shared/kubernetes/container-hash.ts';
import type { ContainerID } from '../../../../../../src/shared/kubernetes/ids.ts';
import {
  aContainer,
  aContainerStatus,
  aPod,
  aRuntimeStatus,
  aSandbox,
  aSidecar,
  exited,
} from '../../../../../support/pods/pod-sync-samples.ts';
import { testRows } from './rows.ts';

const lifecycle = { postStart: { exec: { command: ['hello'] } } };
const app = aContainer('app', { lifecycle });
const sidecar = aSidecar('sidecar', { lifecycle });
const running = (container: Container) => aContainerStatus(container.name, { hash: containerHash(container) });
const more = { unfinishedHooks: ['app-1', 'sidecar-1'] as ContainerID[] };

testRows('the postStart hooks that run again', [
  {
    name: 'a hook that ended does not run again',
    pod: aPod({ containers: [app] }),
    status: aRuntimeStatus([running(app)]),
    more: { unfinishedHooks: ['other' as ContainerID] },
    want: [],
  },
  {
    name: 'an unfinished hook runs again',
    pod: aPod({ containers: [app] }),
    status: aRuntimeStatus([running(app)]),
    more,
    want: ['repeat the hook of app-1'],
  },
  {
    name: 'a container without a hook has none',
    pod: aPod({ containers: [aContainer('app')] }),
    status: aRuntimeStatus([aContainerStatus('app')]),
    more,
    want: [],
  },
  {
    name: 'the hook of a sidecar runs again before the next container starts',
    pod: aPod({ initContainers: [sidecar, aContainer('init')] }),
    status: aRuntimeStatus([running(sidecar)]),
    more,
    want: ['repeat the hook of sidecar-1', 'start init init'],
  },
  {
    name: 'the hooks of a sidecar and of a container run again',
    pod: aPod({ initContainers: [sidecar], containers: [app] }),
    status: aRuntimeStatus([running(app), running(sidecar)]),
    more,
    want: ['repeat the hook of sidecar-1', 'repeat the hook of app-1'],
  },
  {
    name: 'a container that exited starts, and its hook with it',
    pod: aPod({ containers: [app] }),
    status: aRuntimeStatus([exited('app', 1)]),
    more,
    want: ['start app'],
  },
  {
    name: 'a container that is replaced has no hook to end',
    pod: aPod({ containers: [app] }),
    status: aRuntimeStatus([aContainerStatus('app', { hash: 'old' })]),
    more,
    want: ['kill app-1', 'start app'],
  },
  {
    name: 'no hook runs in a dead sandbox',
    pod: aPod({ containers: [app] }),
    status: aRuntimeStatus([exited('app', 1)], [aSandbox({ state: 'notReady' })]),
    more,
    want: ['kill pod', 'create sandbox 1', 'start app'],
  },
]);
