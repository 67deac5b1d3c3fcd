/** Schema of the security contexts of pods and containers, from the v1 API: field names, types and optionality. */
import { always, bool, int64, list, pointer, struct, text } from './types.ts';

const seLinuxOptions = struct({
  user: text,
  role: text,
  type: text,
  level: text,
});
const windowsSecurityContextOptions = struct({
  gmsaCredentialSpecName: pointer(text),
  gmsaCredentialSpec: pointer(text),
  runAsUserName: pointer(text),
  hostProcess: pointer(bool),
});
const seccompProfile = struct({
  type: always(text),
  localhostProfile: pointer(text),
});
const appArmorProfile = struct({
  type: always(text),
  localhostProfile: pointer(text),
});
const capabilities = struct({
  add: list(text),
  drop: list(text),
});
export const securityContext = struct({
  capabilities: pointer(capabilities),
  privileged: pointer(bool),
  seLinuxOptions: pointer(seLinuxOptions),
  windowsOptions: pointer(windowsSecurityContextOptions),
  runAsUser: pointer(int64),
  runAsGroup: pointer(int64),
  runAsNonRoot: pointer(bool),
  readOnlyRootFilesystem: pointer(bool),
  allowPrivilegeEscalation: pointer(bool),
  procMount: pointer(text),
  seccompProfile: pointer(seccompProfile),
  appArmorProfile: pointer(appArmorProfile),
});
const sysctl = struct({
  name: always(text),
  value: always(text),
});
export const podSecurityContext = struct({
  seLinuxOptions: pointer(seLinuxOptions),
  windowsOptions: pointer(windowsSecurityContextOptions),
  runAsUser: pointer(int64),
  runAsGroup: pointer(int64),
  runAsNonRoot: pointer(bool),
  supplementalGroups: list(int64),
  supplementalGroupsPolicy: pointer(text),
  fsGroup: pointer(int64),
  sysctls: list(sysctl),
  fsGroupChangePolicy: pointer(text),
  seccompProfile: pointer(seccompProfile),
  appArmorProfile: pointer(appArmorProfile),
  seLinuxChangePolicy: pointer(text),
});
