/** Lists the services with a cluster IP by namespace, for the service environment variables of pods. Upstream: serviceLister. */
import type { ServiceInfo, ServicesRef } from '../../shared/contracts/pod-objects.ts';
import { KubeletError } from '../../shared/errors/kubelet-error.ts';
import { service as serviceSchema } from '../../shared/kubernetes/schema/objects.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { acceptConforming, fieldNotEquals, Reflector, type ApiClient, type ApiObject } from '../api/index.ts';

export interface Service extends ApiObject {
  readonly spec?: {
    readonly clusterIP?: string;
    readonly ports?: readonly { readonly name?: string; readonly port: number; readonly protocol?: string }[];
  };
}

/** The API server's service, which every pod's environment has unless its namespace has a service of that name (upstream masterServices). */
const apiServer = { namespace: 'default', name: 'kubernetes' };
/** How long a sync waits for the first list. */
const listTimeoutMs = 1000;

export class ServiceLister {
  readonly #clock: Clock;
  readonly #reflector: Reflector<Service>;
  readonly #synced = Promise.withResolvers<void>();
  readonly #byNamespace = new Map<string, Map<string, ServiceInfo>>();

  private constructor({ client, clock, logger }: { readonly client: ApiClient; readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#reflector = Reflector.start<Service>({
      client,
      path: '/api/v1/services',
      // Excludes headless services, which have no cluster IP and may be the majority.
      fieldSelector: fieldNotEquals('spec.clusterIP', 'None'),
      trafficClass: 'objects',
      apiVersion: 'v1',
      kind: 'Service',
      accept: acceptConforming(serviceSchema, logger),
      handler: {
        onReplace: (services) => {
          this.#byNamespace.clear();
          for (const service of services) this.#set(service);
          this.#synced.resolve();
        },
        onChange: (changes) => {
          for (const { type, object } of changes) {
            if (type === 'DELETED') this.#delete(object);
            else this.#set(object);
          }
        },
      },
      clock,
      logger,
    });
  }

  static start(options: { readonly client: ApiClient; readonly clock: Clock; readonly logger: Logger }): ServiceLister {
    return new ServiceLister(options);
  }

  /** With `mayWait`, waits at most one second for the first list. Rejects with KubeletError `NotSynced` when there is no list yet. */
  async list({ namespace, links }: ServicesRef, mayWait: boolean): Promise<ServiceInfo[]> {
    if (!this.#reflector.hasSynced() && mayWait) {
      const stopTimer = new AbortController();
      await Promise.race([this.#synced.promise, this.#clock.sleep(listTimeoutMs, stopTimer.signal).catch(() => {})]);
      stopTimer.abort();
    }
    if (!this.#reflector.hasSynced()) {
      throw new KubeletError('NotSynced', 'services have not yet been read at least once, cannot construct envvars');
    }
    const namespaceServices = (links && this.#byNamespace.get(namespace)) || new Map<string, ServiceInfo>();
    const server = this.#byNamespace.get(apiServer.namespace)?.get(apiServer.name);
    return server && !namespaceServices.has(apiServer.name) ? [server, ...namespaceServices.values()] : [...namespaceServices.values()];
  }

  close(): Promise<void> {
    return this.#reflector.close();
  }

  #set(service: Service): void {
    const info = toServiceInfo(service);
    if (!info) return this.#delete(service);
    const services = this.#byNamespace.get(info.namespace) ?? new Map<string, ServiceInfo>();
    services.set(info.name, info);
    this.#byNamespace.set(info.namespace, services);
  }

  #delete({ metadata: { namespace = '', name } }: Service): void {
    const services = this.#byNamespace.get(namespace);
    services?.delete(name);
    if (services?.size === 0) this.#byNamespace.delete(namespace);
  }
}

/** Null for a service without a cluster IP: headless, or of type ExternalName. */
function toServiceInfo({ metadata: { namespace = '', name }, spec }: Service): ServiceInfo | null {
  const { clusterIP = '', ports = [] } = spec ?? {};
  if (clusterIP === '' || clusterIP === 'None') return null;
  return {
    name,
    namespace,
    clusterIP,
    ports: ports.map((port) => ({ name: port.name ?? '', port: port.port, protocol: port.protocol ?? 'TCP' })),
  };
}
