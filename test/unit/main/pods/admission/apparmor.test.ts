import assert from 'node:assert/strict';
import { apparmorAdmission } from '../../../../../src/main/pods/admission/index.ts';
import type { Container, PodSpec, PodStatus } from '../../../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

interface Fields {
  readonly pod?: PodSpec['securityContext'];
  readonly container?: Container['securityContext'];
  readonly init?: Container['securityContext'];
  readonly annotation?: string;
  readonly status?: PodStatus;
}

function messageFor({ pod, container, init, annotation, status }: Fields, hostHasAppArmor: boolean): string {
  const result = apparmorAdmission(hostHasAppArmor)(
    aPod({
      metadata: annotation === undefined ? {} : { annotations: { 'container.apparmor.security.beta.kubernetes.io/app': annotation } },
      spec: {
        containers: [aContainer(container ? { securityContext: container } : {})],
        ...(init && { initContainers: [aContainer({ name: 'init', securityContext: init })] }),
        ...(pod && { securityContext: pod }),
      },
      ...(status && { status }),
    }),
    [],
  );
  if (!result) return 'admitted';
  assert.ok('rejection' in result);
  return `${result.rejection.reason}: ${result.rejection.message}`;
}

const notEnabled = 'AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host';
const emptyName = (name: string) =>
  `AppArmor: Cannot enforce AppArmor: invalid empty AppArmor profile name: "&AppArmorProfile{Type:Localhost,LocalhostProfile:${name},}"`;
const appArmorProfile = (type: string, localhostProfile?: string) => ({
  appArmorProfile: { type, ...(localhostProfile !== undefined && { localhostProfile }) },
});

const without: readonly [name: string, fields: Fields, want: string][] = [
  ['no profile', {}, 'admitted'],
  ['RuntimeDefault of the pod', { pod: appArmorProfile('RuntimeDefault') }, notEnabled],
  ['Unconfined', { pod: appArmorProfile('Unconfined'), container: appArmorProfile('Unconfined') }, 'admitted'],
  ['Localhost of an init container', { init: appArmorProfile('Localhost', 'web') }, notEnabled],
  ['the annotation', { annotation: 'runtime/default' }, notEnabled],
  ['the annotation unconfined', { annotation: 'unconfined' }, 'admitted'],
  ['an empty annotation', { annotation: '' }, notEnabled],
  ['a pod that ran before', { pod: appArmorProfile('RuntimeDefault'), status: { phase: 'Running' } }, 'admitted'],
];
const enabled: readonly [name: string, fields: Fields, want: string][] = [
  ['RuntimeDefault', { pod: appArmorProfile('RuntimeDefault') }, 'admitted'],
  ['a name with slashes', { container: appArmorProfile('Localhost', '/usr/bin/../web') }, 'admitted'],
  ['no name', { container: appArmorProfile('Localhost') }, emptyName('nil')],
  ['an empty name in the annotation', { annotation: 'localhost/' }, emptyName('*')],
  ['a name of spaces in an init container', { init: appArmorProfile('Localhost', '  ') }, emptyName('*  ')],
  [
    'an empty name that the container’s own profile hides',
    { pod: appArmorProfile('Localhost', ''), container: appArmorProfile('Localhost', 'a') },
    'admitted',
  ],
];
table('an AppArmor profile on a host without AppArmor, and on one with', (row) => {
  for (const [name, fields, want] of without) row(`without AppArmor: ${name}`, () => assert.equal(messageFor(fields, false), want));
  for (const [name, fields, want] of enabled) row(`with AppArmor: ${name}`, () => assert.equal(messageFor(fields, true), want));
});
