/** Schema of probes and lifecycle hooks, from the v1 API: field names, types and optionality. */
import { always, int32, int64, intOrString, list, pointer, struct, text } from './types.ts';

const execAction = struct({
  command: list(text),
});
const httpHeader = struct({
  name: always(text),
  value: always(text),
});
const httpGetAction = struct({
  path: text,
  port: always(intOrString),
  host: text,
  scheme: text,
  httpHeaders: list(httpHeader),
  protocol: pointer(text),
});
const tcpSocketAction = struct({
  port: always(intOrString),
  host: text,
});
const grpcAction = struct({
  port: always(int32),
  service: pointer(text),
  mode: pointer(text),
});
const probeHandler = struct({
  exec: pointer(execAction),
  httpGet: pointer(httpGetAction),
  tcpSocket: pointer(tcpSocketAction),
  grpc: pointer(grpcAction),
});
export const probe = struct({
  ...probeHandler.fields,
  initialDelaySeconds: int32,
  timeoutSeconds: int32,
  periodSeconds: int32,
  successThreshold: int32,
  failureThreshold: int32,
  terminationGracePeriodSeconds: pointer(int64),
});
const sleepAction = struct({
  seconds: always(int64),
});
const lifecycleHandler = struct({
  exec: pointer(execAction),
  httpGet: pointer(httpGetAction),
  tcpSocket: pointer(tcpSocketAction),
  sleep: pointer(sleepAction),
});
export const lifecycle = struct({
  postStart: pointer(lifecycleHandler),
  preStop: pointer(lifecycleHandler),
  stopSignal: pointer(text),
});
