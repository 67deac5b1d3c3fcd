/** Runs the lifecycle hooks of containers: postStart when a container was started, preStop before it is stopped. Called by start/ and kill/. */
export { podIPForHooks, runHook, type Hook } from './run-hook.ts';
