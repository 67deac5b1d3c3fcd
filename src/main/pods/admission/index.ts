/**
 * Which pods this node refuses, each with a handler of its own; asked in order, the first refusal counts. A pod that is refused is
 * Failed for good: it is shown with the reason, and never started. Upstream: the admit handlers of NewMainKubelet.
 */
export { AllocationManager } from './allocation-manager.ts';
export { admitHandlers } from './admit-handlers.ts';
export { apparmorAdmission, hostHasAppArmor } from './apparmor.ts';
export { countRejection } from './count-rejection.ts';
export { missingFeaturesForUpdate } from './features.ts';
export { predicateAdmission } from './predicates.ts';
export { isCriticalPod } from './preemption.ts';
export { sysctlAdmission } from './sysctls.ts';
export type { AdmissionNode, AdmitHandler, Preemption, AdmitResult } from './admit-handler.ts';
