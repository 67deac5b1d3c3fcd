/**
 * Periodic cleanup of pods: Housekeeping reconciles the desired pods with the pod workers and the runtime; ContainerDeletor removes superfluous dead
 * containers between its rounds; ImageGarbageCollection starts the collection of images. The composition root runs them.
 */
export { ContainerDeletor } from './container-deletor.ts';
export { Housekeeping } from './housekeeping.ts';
export { ImageGarbageCollection } from './image-garbage-collection.ts';
export { neededImages } from './needed-images.ts';
