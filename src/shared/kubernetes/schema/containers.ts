/** Schema of containers (main, init and ephemeral), from the v1 API: field names, types and optionality. */
import { always, bool, int32, list, map, pointer, quantity, struct, text } from './types.ts';
import { envFromSource, envVar } from './environment.ts';
import { lifecycle, probe } from './probes.ts';
import { securityContext } from './security.ts';

const containerPort = struct({
  name: text,
  hostPort: int32,
  containerPort: always(int32),
  protocol: text,
  hostIP: text,
});
const resourceClaim = struct({
  name: always(text),
  request: text,
});
export const resourceRequirements = struct({
  limits: map(quantity),
  requests: map(quantity),
  claims: list(resourceClaim),
});
const containerResizePolicy = struct({
  resourceName: always(text),
  restartPolicy: always(text),
});
const containerRestartRuleOnExitCodes = struct({
  operator: always(text),
  values: list(int32),
});
const containerRestartRule = struct({
  action: always(text),
  exitCodes: pointer(containerRestartRuleOnExitCodes),
});
const volumeMount = struct({
  name: always(text),
  readOnly: bool,
  recursiveReadOnly: pointer(text),
  mountPath: always(text),
  subPath: text,
  mountPropagation: pointer(text),
  subPathExpr: text,
  bindMountOptions: list(text),
});
const volumeDevice = struct({
  name: always(text),
  devicePath: always(text),
});
export const container = struct({
  name: always(text),
  image: text,
  command: list(text),
  args: list(text),
  workingDir: text,
  ports: list(containerPort),
  envFrom: list(envFromSource),
  env: list(envVar),
  resources: resourceRequirements,
  resizePolicy: list(containerResizePolicy),
  restartPolicy: pointer(text),
  restartPolicyRules: list(containerRestartRule),
  volumeMounts: list(volumeMount),
  volumeDevices: list(volumeDevice),
  livenessProbe: pointer(probe),
  readinessProbe: pointer(probe),
  startupProbe: pointer(probe),
  lifecycle: pointer(lifecycle),
  terminationMessagePath: text,
  terminationMessagePolicy: text,
  imagePullPolicy: text,
  securityContext: pointer(securityContext),
  stdin: bool,
  stdinOnce: bool,
  tty: bool,
});
export const ephemeralContainer = struct({
  ...container.fields,
  targetContainerName: text,
});
