/**
 * Runs in a guest: starts etcd and the API server there, detached, in the folder of the first argument. Prints the kubeconfig and the fields of
 * KubeletConfiguration of the node in the second argument, as JSON. KUBEBUILDER_ASSETS names the folder of the programs.
 */
import { clusterMember } from '../../../scripts/host/control-plane-member.ts';
import { ControlPlane } from '../../../scripts/host/control-plane.ts';

const [folder = '', nodeName = ''] = process.argv.slice(2);
const controlPlane = await ControlPlane.start({ folder, controllerManager: false, scheduler: false, detached: true });
const client = controlPlane.client();
// Pods are only admitted with one. The controller manager would create it.
await client.create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
process.stdout.write(`${JSON.stringify(clusterMember(controlPlane, nodeName, 10_250))}\n`);
process.exit();
