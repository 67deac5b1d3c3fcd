/**
 * Computes `status.declaredFeatures`: optional behaviour of this node that the scheduler and the API server may rely on. Pure. Upstream:
 * component-helpers/nodedeclaredfeatures.
 *
 * Declares only features that this kubelet implements. In-place resize and user namespaces on the host's network are missing, whatever their
 * gates are set to.
 */
import type { FeatureGates } from '../../config/feature-gates.ts';

/** Each feature has the name of its gate. Sorted by name. */
const implementedFeatures = ['ExtendWebSocketsToKubelet', 'RestartAllContainersOnContainerExits'];

/** Returns null while the gate NodeDeclaredFeatures is off. The Node's field then stays unchanged. */
export function declaredFeatures(gates: FeatureGates): readonly string[] | null {
  return gates.enabled('NodeDeclaredFeatures') ? implementedFeatures.filter((name) => gates.enabled(name)) : null;
}
