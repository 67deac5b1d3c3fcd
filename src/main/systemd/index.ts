/**
 * What the kubelet reports to systemd as a service: that it is ready (`Type=notify`), that it reloads (`Type=notify-reload`), that it stops, and that it works (`WatchdogSec`). Owns no connection: each
 * notification is one datagram. Created by cli/start.ts. Upstream: SdNotify in cmd/kubelet/app/server.go, pkg/kubelet/watchdog.
 */
export { ServiceNotifier } from './service-notifier.ts';
