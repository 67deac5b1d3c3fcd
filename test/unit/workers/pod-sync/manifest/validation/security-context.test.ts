import assert from 'node:assert/strict';
import { aManifest, errorsOf, type Json } from '../../../../../support/pods/manifests.ts';
import { table } from '../../../../../support/table.ts';

const p = 'spec.securityContext';
const c = 'spec.containers[0].securityContext';
const pod = (securityContext: Json, more: Json = {}) => aManifest({ spec: { securityContext, ...more } });
const container = (securityContext: Json, more: Json = {}) => aManifest({ container: { securityContext }, spec: more });
const sysctls = (...names: string[]) => pod({ sysctls: names.map((name) => ({ name, value: '1' })) });
const windows = (windowsOptions: Json) => pod({ windowsOptions });

const id = 'must be between 0 and 2147483647, inclusive';
const sysctlRule =
  'must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';
const types = 'supported values: "Localhost", "RuntimeDefault", "Unconfined"';

const ids: readonly [manifest: Json, ...errors: string[]][] = [
  [pod({ runAsUser: -1 }), `${p}.runAsUser: Invalid value: -1: ${id}`],
  [pod({ runAsGroup: 2 ** 31 }), `${p}.runAsGroup: Invalid value: 2147483648: ${id}`],
  [pod({ fsGroup: 2 ** 31 }), `${p}.fsGroup: Invalid value: 2147483648: ${id}`],
  [pod({ supplementalGroups: [0, -5] }), `${p}.supplementalGroups[1]: Invalid value: -5: ${id}`],
  [container({ runAsUser: 2 ** 31 }), `${c}.runAsUser: Invalid value: 2147483648: ${id}`],
  [container({ runAsGroup: -1 }), `${c}.runAsGroup: Invalid value: -1: ${id}`],
  [pod({ runAsUser: 2 ** 31 - 1, runAsGroup: 0 })],
];
const profiles: readonly [manifest: Json, ...errors: string[]][] = [
  [pod({ seccompProfile: { type: '' } }), `${p}.seccompProfile.type: Required value: type is required when seccompProfile is set`],
  [pod({ seccompProfile: { type: 'Docker' } }), `${p}.seccompProfile.type: Unsupported value: "Docker": ${types}`],
  [
    container({ seccompProfile: { type: 'Localhost', localhostProfile: '/etc/passwd' } }),
    `${c}.seccompProfile.localhostProfile: Invalid value: "/etc/passwd": must be a relative path`,
  ],
  [
    container({ seccompProfile: { type: 'Localhost', localhostProfile: 'a/../../b' } }),
    `${c}.seccompProfile.localhostProfile: Invalid value: "a/../../b": must not contain '..'`,
  ],
  [
    container({ seccompProfile: { type: 'RuntimeDefault', localhostProfile: 'a' } }),
    `${c}.seccompProfile.localhostProfile: Invalid value: {"type":"RuntimeDefault","localhostProfile":"a"}: can only be set when seccomp type is Localhost`,
  ],
  [pod({ appArmorProfile: { type: '' } }), `${p}.appArmorProfile.type: Required value: type is required when appArmorProfile is set`],
  [pod({ appArmorProfile: { type: 'Docker' } }), `${p}.appArmorProfile.type: Unsupported value: "Docker": ${types}`],
  [
    container({ appArmorProfile: { type: 'Localhost' } }),
    `${c}.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost`,
  ],
  [
    container({ appArmorProfile: { type: 'Localhost', localhostProfile: ' a' } }),
    `${c}.appArmorProfile.localhostProfile: Invalid value: " a": must not be padded with whitespace`,
  ],
  [
    container({ appArmorProfile: { type: 'Localhost', localhostProfile: 'ü'.repeat(2048) } }),
    `${c}.appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes`,
  ],
  [container({ appArmorProfile: { type: 'Localhost', localhostProfile: '/usr/sbin/../web' } })],
];
const rest: readonly [manifest: Json, ...errors: string[]][] = [
  [sysctls(''), `${p}.sysctls[0].name: Required value`],
  [sysctls('net.core.somaxconn\nkernel.panic'), `${p}.sysctls[0].name: Invalid value: "net.core.somaxconn\\nkernel.panic": ${sysctlRule}`],
  [sysctls('net.core.somaxconn\n'), `${p}.sysctls[0].name: Invalid value: "net.core.somaxconn\\n": ${sysctlRule}`],
  [sysctls('../../kernel.panic'), `${p}.sysctls[0].name: Invalid value: "../../kernel.panic": ${sysctlRule}`],
  [sysctls('kernel.sem', 'kernel.sem'), `${p}.sysctls[1].name: Duplicate value: "kernel.sem"`],
  [
    container({ allowPrivilegeEscalation: false, capabilities: { add: ['CAP_SYS_ADMIN'] } }),
    `${c}: Invalid value: {"capabilities":{"add":["CAP_SYS_ADMIN"]},"allowPrivilegeEscalation":false}: cannot set \`allowPrivilegeEscalation\` to false and \`capabilities.Add\` CAP_SYS_ADMIN`,
  ],
  [
    container({ allowPrivilegeEscalation: false, privileged: true }),
    `${c}: Invalid value: {"privileged":true,"allowPrivilegeEscalation":false}: cannot set \`allowPrivilegeEscalation\` to false and \`privileged\` to true`,
  ],
  [container({ capabilities: { add: ['ALL', 'no such\n'], drop: ['CAP_CHOWN'] } })],
  [container({ procMount: 'Bare' }), `${c}.procMount: Unsupported value: "Bare": supported values: "Default", "Unmasked"`],
  [container({ procMount: 'Unmasked' }), `${c}.procMount: Invalid value: "Unmasked": \`hostUsers\` must be false to use \`Unmasked\``],
  [container({ procMount: 'Unmasked' }, { hostUsers: false })],
  [
    windows({ runAsUserName: 'a\\b\\c' }),
    `${p}.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash`,
  ],
  [
    windows({ gmsaCredentialSpec: '' }),
    `${p}.windowsOptions.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string`,
  ],
  [
    windows({ hostProcess: true }),
    'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers',
  ],
  [
    pod({ windowsOptions: { runAsUserName: 'web' } }, { os: { name: 'linux' } }),
    `${p}.windowsOptions: Forbidden: windows options cannot be set for a linux pod`,
  ],
  [pod({ runAsUser: 1 }, { os: { name: 'windows' } }), `${p}.runAsUser: Forbidden: cannot be set for a windows pod`],
];
table('the security contexts of a manifest are validated as the API server validates them', (row) => {
  for (const [manifest, ...errors] of [...ids, ...profiles, ...rest])
    row(JSON.stringify(manifest['spec']).slice(0, 150), () => assert.deepEqual(errorsOf(manifest), errors));
});
