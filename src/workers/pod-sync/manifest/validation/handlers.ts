/** Validates probes and lifecycle hooks: exactly one handler, and the ranges of the numbers. */
import type { Container, Lifecycle, LifecycleHandler, PodSpec } from '../../../../shared/kubernetes/api.ts';
import { httpHeaderNameErrors, portNameErrors } from '../../../../shared/kubernetes/names.ts';
import { checkName, checkNonNegative, checkRequired, checkSupported } from './checks.ts';
import { forbidden, invalid, required } from '../../../../shared/kubernetes/field-error.ts';
import { checkPortNumber } from './ports.ts';
import { stopSignals } from './stop-signals.ts';

type Probe = NonNullable<Container['livenessProbe']>;
interface Handler {
  readonly exec?: LifecycleHandler['exec'];
  readonly httpGet?: LifecycleHandler['httpGet'];
  readonly tcpSocket?: LifecycleHandler['tcpSocket'];
  readonly grpc?: Probe['grpc'];
  readonly sleep?: LifecycleHandler['sleep'];
}

export function validateProbes(container: Container, path: string, errors: string[]): void {
  for (const kind of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    const probe = container[kind];
    if (!probe) continue;
    const probePath = `${path}.${kind}`;
    validateProbe(probe, probePath, errors);
    if (kind === 'readinessProbe') {
      const { terminationGracePeriodSeconds: period } = probe;
      if (period === undefined) continue;
      errors.push(invalid(`${probePath}.terminationGracePeriodSeconds`, period, 'must not be set for readinessProbes'));
    } else if (probe.successThreshold !== 1) {
      errors.push(invalid(`${probePath}.successThreshold`, probe.successThreshold, 'must be 1'));
    }
  }
}

function validateProbe(probe: Probe, path: string, errors: string[]): void {
  // The grace period bounds `sleep` only, which probes do not have.
  validateHandler(probe, 0, path, errors);
  for (const field of ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'] as const) {
    checkNonNegative(probe[field], `${path}.${field}`, errors);
  }
  const { terminationGracePeriodSeconds: period } = probe;
  if (period !== undefined && period <= 0) {
    errors.push(invalid(`${path}.terminationGracePeriodSeconds`, period, 'must be greater than 0'));
  }
}

export function validateLifecycle(lifecycle: Lifecycle, spec: PodSpec, path: string, errors: string[]): void {
  const gracePeriodSeconds = spec.terminationGracePeriodSeconds ?? 0;
  if (lifecycle.postStart) validateHandler(lifecycle.postStart, gracePeriodSeconds, `${path}.postStart`, errors);
  if (lifecycle.preStop) validateHandler(lifecycle.preStop, gracePeriodSeconds, `${path}.preStop`, errors);
  if (lifecycle.stopSignal === undefined) return;
  const stopSignalPath = `${path}.stopSignal`;
  if (!spec.os) errors.push(forbidden(stopSignalPath, 'may not be set for containers with empty `spec.os.name`'));
  else if (spec.os.name === 'windows') checkSupported(lifecycle.stopSignal, stopSignalPath, ['SIGKILL', 'SIGTERM'], errors);
  else if (spec.os.name === 'linux') checkSupported(lifecycle.stopSignal, stopSignalPath, stopSignals, errors);
}

/** In the API's order. With two handlers, the API reports the second in this order. */
const kinds = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const;

function validateHandler(handler: Handler, gracePeriodSeconds: number, path: string, errors: string[]): void {
  const [kind, ...more] = kinds.filter((each) => handler[each] !== undefined);
  for (const each of more) errors.push(forbidden(`${path}.${each}`, 'may not specify more than 1 handler type'));
  switch (kind) {
    case undefined:
      return void errors.push(required(path, 'must specify a handler type'));
    case 'exec':
      if (!handler.exec?.command?.length) errors.push(required(`${path}.exec.command`));
      return;
    case 'httpGet':
      return validateHTTPGet(handler.httpGet!, `${path}.httpGet`, errors);
    case 'tcpSocket':
      return validatePort(handler.tcpSocket!.port, `${path}.tcpSocket.port`, errors);
    case 'grpc':
      return validateGRPC(handler.grpc!, `${path}.grpc`, errors);
    case 'sleep':
      return validateSleep(handler.sleep!.seconds, gracePeriodSeconds, `${path}.sleep`, errors);
    default:
      return kind satisfies never;
  }
}

function validateHTTPGet(action: NonNullable<Handler['httpGet']>, path: string, errors: string[]): void {
  checkRequired(action.path, `${path}.path`, errors);
  validatePort(action.port, `${path}.port`, errors);
  checkSupported(action.scheme ?? '', `${path}.scheme`, ['HTTP', 'HTTPS'], errors);
  for (const { name } of action.httpHeaders ?? []) checkName(name, `${path}.httpHeaders`, httpHeaderNameErrors, errors);
  validateHTTPProtocol(action, path, errors);
}

/** Checks the protocol even without the gate H2CContainerProbe, as upstream. */
function validateHTTPProtocol({ protocol, scheme, host }: NonNullable<Handler['httpGet']>, path: string, errors: string[]): void {
  if (protocol === undefined) return;
  if (protocol !== 'HTTP2') return checkSupported(protocol, `${path}.protocol`, ['HTTP1', 'HTTP2'], errors);
  if (scheme !== 'HTTP') errors.push(invalid(`${path}.protocol`, protocol, 'is only supported with HTTP (H2C)'));
  else if (host) errors.push(invalid(`${path}.host`, host, 'must be empty when `protocol` is "HTTP2"'));
}

function validateGRPC({ port, mode }: NonNullable<Handler['grpc']>, path: string, errors: string[]): void {
  checkPortNumber(port, `${path}.port`, errors);
  if (mode !== undefined) checkSupported(mode, `${path}.mode`, ['Plaintext', 'TLS'], errors);
}

/** `port` is a port number, or the name of a port of the container. */
function validatePort(port: unknown, path: string, errors: string[]): void {
  if (typeof port === 'number') checkPortNumber(port, path, errors);
  else checkName(port as string, path, portNameErrors, errors);
}

function validateSleep(seconds: number, gracePeriodSeconds: number, path: string, errors: string[]): void {
  if (seconds >= 0 && seconds <= gracePeriodSeconds) return;
  errors.push(invalid(path, seconds, `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriodSeconds})`));
}
