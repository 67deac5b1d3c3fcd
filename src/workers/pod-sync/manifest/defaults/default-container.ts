/** Applies the defaults of one container. */
import type { Container, Draft, EphemeralContainer } from '../../../../shared/kubernetes/api.ts';
import type { ManifestGates } from '../manifest-gates.ts';
import { defaultPullPolicy } from './default-pull-policy.ts';
import { roundToMillis } from './round-to-millis.ts';

export type DraftContainer = Draft<Container>;
type DraftProbe = NonNullable<DraftContainer['livenessProbe']>;
type DraftHTTPGet = NonNullable<DraftProbe['httpGet']>;

/** A limit without a request becomes the request. */
export function defaultRequests({ resources }: DraftContainer): void {
  if (resources?.limits) resources.requests = { ...resources.limits, ...resources.requests };
}

export function defaultContainer(container: DraftContainer | Draft<EphemeralContainer>, gates: ManifestGates): void {
  container.imagePullPolicy ??= defaultPullPolicy(container.image ?? '');
  container.terminationMessagePath ??= '/dev/termination-log';
  container.terminationMessagePolicy ??= 'File';
  for (const port of container.ports ?? []) port.protocol ??= 'TCP';
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ??= 'v1';
    if (valueFrom?.fileKeyRef) valueFrom.fileKeyRef.optional ??= false;
  }
  roundToMillis(container.resources?.limits);
  roundToMillis(container.resources?.requests);
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) if (probe) defaultProbe(probe, gates);
  for (const hook of [container.lifecycle?.postStart, container.lifecycle?.preStop]) if (hook?.httpGet) defaultHTTPGet(hook.httpGet, gates);
}

function defaultProbe(probe: DraftProbe, gates: ManifestGates): void {
  probe.timeoutSeconds ??= 1;
  probe.periodSeconds ??= 10;
  probe.successThreshold ??= 1;
  probe.failureThreshold ??= 3;
  if (probe.httpGet) defaultHTTPGet(probe.httpGet, gates);
  if (probe.grpc) probe.grpc.service ??= '';
}

function defaultHTTPGet(action: DraftHTTPGet, gates: ManifestGates): void {
  action.path ??= '/';
  action.scheme ??= 'HTTP';
  if (gates.H2CContainerProbe) action.protocol ??= 'HTTP1';
}
