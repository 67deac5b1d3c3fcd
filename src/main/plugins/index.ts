/**
 * Registers the plugins whose sockets are in `plugins_registry` below the root directory (upstream pkg/kubelet/pluginmanager): finds the sockets, asks each plugin what
 * it is, gives it to the handler of its type, and notifies the plugin of the result. Owns which plugins are registered; knows nothing of what they do. The plugins
 * thread makes the calls. The composition root starts it with the handlers.
 */
export { PluginManager, type PluginHandler } from './plugin-manager.ts';
