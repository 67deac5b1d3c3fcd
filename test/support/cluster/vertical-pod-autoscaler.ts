/** The recommender, the updater and the admission controller of the VerticalPodAutoscaler, as processes beside the control plane, with their own manifests. */
import { join } from 'node:path';
import { CertificateAuthority } from '../../../lab/control-plane/control-plane-certificates.ts';
import type { ControlPlaneAccess } from '../../../lab/control-plane/control-plane-access.ts';
import { ControlPlaneProcess, stopProgram } from '../../../lab/control-plane/control-plane-process.ts';
import { reservePorts } from '../../../lab/host/reserve-ports.ts';
import { ensureVpa, type VpaProgram } from '../../../scripts/vpa/programs.ts';
import type { TestHooks } from '../runtime/simulated-runtime.ts';
import type { TestCluster } from './control-plane.ts';

/** Of the service accounts, and of the lease by which the updater sees that the admission controller runs. */
const namespace = 'kube-system';
const loopback = '127.0.0.1';
const readyMs = 60_000;

/**
 * Starts them with their defaults, but for shorter periods, and waits until the API server asks the admission controller about new pods. Needs
 * metrics-server. They are stopped at the end of the test.
 */
export async function startVerticalPodAutoscaler<C extends ControlPlaneAccess>(t: TestHooks, cluster: TestCluster<C>): Promise<void> {
  const { controlPlane } = cluster;
  const { folder } = controlPlane;
  const { binaries, manifests } = await ensureVpa(() => {});
  for (const file of manifests) await cluster.kubectl('create', '-f', file);
  await cluster.kubectl('wait', '--for=condition=Established', '--timeout=20s', 'crd/verticalpodautoscalers.autoscaling.k8s.io');
  const [webhookPort = 0, ...ports] = await reservePorts(4);
  const authority = new CertificateAuthority(join(folder, 'vpa-pki'), 'vpa-ca');
  const webhook = authority.issue('webhook', { commonName: 'vpa-webhook', usages: ['serverAuth'], ips: [loopback] });
  const flags: Readonly<Record<VpaProgram, readonly string[]>> = {
    recommender: ['--recommender-interval=5s'],
    updater: ['--updater-interval=5s'],
    'admission-controller': [
      `--port=${webhookPort}`,
      `--client-ca-file=${authority.certFile}`,
      `--tls-cert-file=${webhook.certFile}`,
      `--tls-private-key=${webhook.keyFile}`,
      '--register-by-url',
      `--webhook-address=https://${loopback}`,
      `--webhook-port=${webhookPort}`,
    ],
  };
  const start = async (program: VpaProgram, port: number): Promise<ControlPlaneProcess> => {
    const name = `vpa-${program}`;
    const kubeconfig = controlPlane.tokenKubeconfig(name, await cluster.serviceAccountToken(namespace, name));
    const address = `${loopback}:${port}`;
    const process = new ControlPlaneProcess({
      name,
      folder,
      binary: binaries[program],
      flags: [`--kubeconfig=${kubeconfig}`, `--address=${address}`, ...flags[program]],
      detached: false,
    });
    t.after(() => stopProgram(folder, name, 2000));
    process.start();
    await process.waitUntilReady(async () => (await fetch(`http://${address}/health-check`)).ok, readyMs);
    return process;
  };
  const [recommenderPort = 0, updaterPort = 0, admissionPort = 0] = ports;
  const [, , admissionController] = await Promise.all([
    start('recommender', recommenderPort),
    start('updater', updaterPort),
    start('admission-controller', admissionPort),
  ]);
  const isRegistered = async () =>
    (await cluster.api.find('/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/vpa-webhook-config')) !== undefined;
  await admissionController.waitUntilReady(isRegistered, readyMs);
}
