/** Access to a running control plane, also from other processes than the one that started it: URL, certificates, kubeconfigs, audit log. */
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from './control-plane-api.ts';
import type { ControlPlaneBinaries } from '../programs/control-plane.ts';
import { CertificateAuthority, type CertificateFiles } from './control-plane-certificates.ts';
import type { ControlPlanePorts } from './control-plane-flags.ts';
import { writeKubeconfig } from './control-plane-kubeconfig.ts';

/** State that other processes need in addition to the files of the control plane's folder. */
export interface SavedState {
  readonly ports: ControlPlanePorts;
  readonly binaries: ControlPlaneBinaries;
  /** Of the API server. */
  readonly address: string;
}

export const loopback = '127.0.0.1';

export class ControlPlaneAccess {
  readonly folder: string;
  /** Of the API server. Never changes for a folder. */
  readonly address: string;
  /** `https://address:port`. */
  readonly url: string;
  /** Signs all certificates: of the API server, its clients and kubelets. */
  readonly authority: CertificateAuthority;
  /** The kubeconfig of cluster-admin. */
  readonly adminKubeconfig: string;
  readonly adminCertificate: CertificateFiles;
  /** kubectl of the same version. */
  readonly kubectl: string;

  protected constructor(folder: string, { ports, binaries, address }: SavedState) {
    this.folder = folder;
    this.address = address;
    this.url = `https://${address}:${ports.apiServer}`;
    this.kubectl = binaries.kubectl;
    this.authority = new CertificateAuthority(join(folder, 'pki'), 'kubernetes');
    this.adminCertificate = this.clientCertificate('kubernetes-admin', ['system:masters']);
    this.adminKubeconfig = this.#kubeconfig('admin', 'kubernetes-admin', this.adminCertificate);
  }

  /** Returns the access to the control plane that was started in this folder. */
  static open(folder: string): ControlPlaneAccess {
    return new ControlPlaneAccess(folder, JSON.parse(readFileSync(stateFile(folder), 'utf8')) as SavedState);
  }

  /** The CA for clients of the API server, and for a kubelet's `authentication.x509.clientCAFile`. */
  get caFile(): string {
    return this.authority.certFile;
  }

  /** Returns the client certificate of a user. The groups of a user can not change. */
  clientCertificate(user: string, groups: readonly string[] = []): CertificateFiles {
    return this.authority.issue(`client-${fileName(user)}`, { commonName: user, organizations: groups, usages: ['clientAuth'] });
  }

  /** Returns the path of a kubeconfig with the user's client certificate. */
  userKubeconfig(user: string, groups: readonly string[] = []): string {
    return this.#kubeconfig(fileName(user), user, this.clientCertificate(user, groups));
  }

  /** Returns the path of a kubelet's kubeconfig: `system:node:<name>` in `system:nodes`, as the Node authorizer requires. */
  kubeletKubeconfig(nodeName: string): string {
    return this.userKubeconfig(`system:node:${nodeName}`, ['system:nodes']);
  }

  /** Returns a certificate for a kubelet's `tlsCertFile` and `tlsPrivateKeyFile`, which the API server trusts. */
  kubeletServingCertificate(nodeName: string, ips: readonly string[] = hostAddresses()): CertificateFiles {
    const commonName = `system:node:${nodeName}`;
    const request = { commonName, organizations: ['system:nodes'], usages: ['serverAuth'], dnsNames: [nodeName], ips } as const;
    return this.authority.issue(`kubelet-${fileName(nodeName)}`, request);
  }

  /** Returns the path of a kubeconfig with a bearer token, for example of a service account. */
  tokenKubeconfig(name: string, token: string): string {
    return this.#kubeconfig(fileName(name), name, { token });
  }

  /** Default credentials: cluster-admin. The client must be closed, because its connections keep the process alive. */
  client(credentials: CertificateFiles | { readonly token: string } | 'anonymous' = this.adminCertificate): ApiClient {
    const { url, caFile } = this;
    if (credentials === 'anonymous') return new ApiClient({ url, caFile });
    return new ApiClient({ url, caFile, ...('token' in credentials ? credentials : { certificate: credentials }) });
  }

  /** Returns a node's requests, oldest first. A request appears shortly after its response. */
  auditEvents(nodeName: string): AuditEvent[] {
    return (
      readFileSync(auditLog(this.folder), 'utf8')
        .split('\n')
        // The last line may be incomplete.
        .slice(0, -1)
        .filter((line) => line.includes(`"system:node:${nodeName}"`))
        .map((line) => JSON.parse(line) as AuditEvent)
    );
  }

  #kubeconfig(name: string, user: string, credentials: CertificateFiles | { readonly token: string }): string {
    const path = join(this.folder, `${name}.kubeconfig`);
    writeKubeconfig(path, { url: this.url, caFile: this.caFile, user, credentials });
    return path;
  }
}

/** The fields of an audit.k8s.io/v1 Event that the log contains. */
export interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly objectRef?: { readonly resource: string; readonly subresource?: string; readonly namespace?: string; readonly name?: string };
  readonly responseStatus?: { readonly code: number; readonly reason?: string };
  /** Present for writes of pod status. */
  readonly requestObject?: unknown;
  readonly requestReceivedTimestamp: string;
  /** Of the end of the response. */
  readonly stageTimestamp: string;
  readonly userAgent: string;
}

export function stateFile(folder: string): string {
  return join(folder, 'control-plane.json');
}

export function auditLog(folder: string): string {
  return join(folder, 'audit.log');
}

/** Replaces colons and other characters of user names. */
function fileName(user: string): string {
  return user.replaceAll(/[^A-Za-z0-9.-]/g, '_');
}

/** Returns all addresses of this host. */
export function hostAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).filter(({ scopeid }) => !scopeid).map(({ address }) => address),
  );
}
