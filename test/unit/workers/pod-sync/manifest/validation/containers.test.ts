import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManifest, decodedPod, errorsOf, type Json } from '../../../../../support/pods/manifests.ts';
import { table } from '../../../../../support/table.ts';

const c = 'spec.containers[0]';
const container = (fields: Json, spec: Json = {}) => aManifest({ container: fields, spec });
const init = (fields: Json) => aManifest({ spec: { initContainers: [{ name: 'first', image: 'x', ...fields }] } });
const env = (fields: Json) => container({ env: [fields] });
const limits = (limits: Json, requests: Json = {}) => container({ resources: { limits, requests } });
const mount = (fields: Json, volumes: Json[] = [{ name: 'v', emptyDir: {} }]) =>
  container({ volumeMounts: [{ name: 'v', mountPath: '/v', ...fields }] }, { volumes });

const cases: readonly [manifest: Json, ...errors: string[]][] = [
  [container({ name: '' }), `${c}.name: Required value`],
  [container({ image: '' }), `${c}.image: Required value`],
  [container({ image: ' x' }), `${c}.image: Invalid value: " x": must not have leading or trailing whitespace`],
  [
    container({ imagePullPolicy: 'Often' }),
    `${c}.imagePullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"`,
  ],
  [
    container({ terminationMessagePolicy: 'Log' }),
    `${c}.terminationMessagePolicy: Unsupported value: "Log": supported values: "FallbackToLogsOnError", "File"`,
  ],
  [
    aManifest({
      spec: {
        containers: [
          { name: 'a', image: 'x' },
          { name: 'a', image: 'x' },
        ],
      },
    }),
    'spec.containers[1].name: Duplicate value: "a"',
  ],
  [aManifest({ spec: { initContainers: [{ name: 'main', image: 'x' }] } }), 'spec.initContainers[0].name: Duplicate value: "main"'],
  // ports
  [container({ ports: [{}] }), `${c}.ports[0].containerPort: Required value`],
  [
    container({ ports: [{ containerPort: 70000 }] }),
    `${c}.ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive`,
  ],
  [
    container({ ports: [{ containerPort: 1, name: 'a--b' }] }),
    `${c}.ports[0].name: Invalid value: "a--b": must not contain consecutive hyphens`,
  ],
  [
    container({
      ports: [
        { containerPort: 1, name: 'a' },
        { containerPort: 2, name: 'a' },
      ],
    }),
    `${c}.ports[1].name: Duplicate value: "a"`,
  ],
  [
    container({ ports: [{ containerPort: 1, protocol: 'ICMP' }] }),
    `${c}.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"`,
  ],
  [
    container({
      ports: [
        { containerPort: 1, hostPort: 9 },
        { containerPort: 2, hostPort: 9 },
      ],
    }),
    `${c}.ports[1].hostPort: Duplicate value: "TCP//9"`,
  ],
  // environment
  [env({ value: 'x' }), `${c}.env[0].name: Required value`],
  [
    env({ name: 'A=B' }),
    `${c}.env[0].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than '='`,
  ],
  [
    env({ name: 'A', valueFrom: {} }),
    `${c}.env[0].valueFrom: Invalid value: "": must specify one of: \`fieldRef\`, \`resourceFieldRef\`, \`configMapKeyRef\`, \`secretKeyRef\` or \`fileKeyRef\``,
  ],
  [
    env({ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }),
    `${c}.env[0].valueFrom: Invalid value: "": may not be specified when \`value\` is not empty`,
  ],
  [env({ name: 'A', valueFrom: { fieldRef: {} } }), `${c}.env[0].valueFrom.fieldRef.fieldPath: Required value`],
  [
    env({ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.color' } } }),
    `${c}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.color": error converting fieldPath: field label not supported: spec.color`,
  ],
  [
    env({ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.labels' } } }),
    `${c}.env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`,
  ],
  [
    env({ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.gpu' } } }),
    `${c}.env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.gpu": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"`,
  ],
  [
    env({ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1Ki' } } }),
    `${c}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`,
  ],
  [
    env({ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: '..' } } }),
    `${c}.env[0].valueFrom.secretKeyRef.key: Invalid value: "..": must not be '..'`,
  ],
  [
    env({ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } }),
    `${c}.env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"`,
  ],
  [container({ envFrom: [{ prefix: 'A' }] }), `${c}.envFrom: Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\``],
  // mounts
  [mount({}, []), `${c}.volumeMounts[0].name: Not found: "v"`],
  [mount({ mountPath: '' }), `${c}.volumeMounts[0].mountPath: Required value`],
  [mount({ subPath: '/x' }), `${c}.volumeMounts[0].subPath: Invalid value: "/x": must be a relative path`],
  [mount({ subPath: 'a/../../x' }), `${c}.volumeMounts[0].subPath: Invalid value: "a/../../x": must not contain '..'`],
  [
    mount({ subPath: 'a', subPathExpr: 'b' }),
    `${c}.volumeMounts[0].subPathExpr: Invalid value: "b": subPathExpr and subPath are mutually exclusive`,
  ],
  [
    mount({ mountPropagation: 'Bidirectional' }),
    `${c}.volumeMounts[0].mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`,
  ],
  [
    mount({ bindMountOptions: ['noexec', 'ro', 'noexec'] }),
    `${c}.volumeMounts[0].bindMountOptions[1]: Unsupported value: "ro": supported values: "nodev", "noexec", "nosuid"`,
    `${c}.volumeMounts[0].bindMountOptions[2]: Duplicate value: "noexec"`,
  ],
  [
    mount({ bindMountOptions: ['nosuid'] }, [{ name: 'v', image: { reference: 'i' } }]),
    `${c}.volumeMounts[0].bindMountOptions: Invalid value: ["nosuid"]: bindMountOptions may not be used with image volumes`,
  ],
  [
    mount({ recursiveReadOnly: 'Enabled' }),
    `${c}.volumeMounts[0].recursiveReadOnly: Forbidden: may only be specified when readOnly is true`,
  ],
  [container({ volumeDevices: [{ name: 'd', devicePath: '/dev/x' }] }), `${c}.volumeDevices[0].name: Not found: "d"`],
  // probes and hooks
  [container({ livenessProbe: {} }), `${c}.livenessProbe: Required value: must specify a handler type`],
  [
    container({ livenessProbe: { exec: {}, successThreshold: 2 } }),
    `${c}.livenessProbe.exec.command: Required value`,
    `${c}.livenessProbe.successThreshold: Invalid value: 2: must be 1`,
  ],
  [
    container({ readinessProbe: { tcpSocket: { port: 'no way' } } }),
    `${c}.readinessProbe.tcpSocket.port: Invalid value: "no way": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
  ],
  [
    container({ readinessProbe: { httpGet: { port: 1 }, exec: { command: ['a'] } } }),
    `${c}.readinessProbe.httpGet: Forbidden: may not specify more than 1 handler type`,
  ],
  [
    container({ readinessProbe: { httpGet: { port: 1 }, terminationGracePeriodSeconds: 5 } }),
    `${c}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes`,
  ],
  [
    container({ startupProbe: { httpGet: { port: 1, scheme: 'FTP' }, periodSeconds: -1 } }),
    `${c}.startupProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"`,
    `${c}.startupProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0`,
  ],
  [
    container({ startupProbe: { httpGet: { port: 1, protocol: 'HTTP3' } }, livenessProbe: { grpc: { port: 1, mode: 'mTLS' } } }),
    `${c}.livenessProbe.grpc.mode: Unsupported value: "mTLS": supported values: "Plaintext", "TLS"`,
    `${c}.startupProbe.httpGet.protocol: Unsupported value: "HTTP3": supported values: "HTTP1", "HTTP2"`,
  ],
  [
    container({ startupProbe: { httpGet: { port: 1, scheme: 'HTTPS', protocol: 'HTTP2' } } }),
    `${c}.startupProbe.httpGet.protocol: Invalid value: "HTTP2": is only supported with HTTP (H2C)`,
  ],
  [
    container({ lifecycle: { preStop: { httpGet: { port: 1, host: 'a', protocol: 'HTTP2' } } } }),
    `${c}.lifecycle.preStop.httpGet.host: Invalid value: "a": must be empty when \`protocol\` is "HTTP2"`,
  ],
  [
    container({ lifecycle: { preStop: { sleep: { seconds: 31 } } } }),
    `${c}.lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)`,
  ],
  [
    container({ lifecycle: { stopSignal: 'SIGTERM' } }),
    `${c}.lifecycle.stopSignal: Forbidden: may not be set for containers with empty \`spec.os.name\``,
  ],
  // resources
  [limits({ cpu: '1' }, { cpu: '2' }), `${c}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`],
  [
    limits({ memory: '-1' }),
    `${c}.resources.limits[memory]: Invalid value: "-1": must be greater than or equal to 0`,
    `${c}.resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0`,
  ],
  [
    limits({ pods: '1' }),
    `${c}.resources.limits[pods]: Invalid value: "pods": must be a standard resource for containers`,
    `${c}.resources.requests[pods]: Invalid value: "pods": must be a standard resource for containers`,
  ],
  [limits({}, { 'example.com/gpu': '1' }), `${c}.resources.limits: Required value: Limit must be set for non overcommitable resources`],
  [limits({ 'hugepages-2Mi': '2Mi' }), `${c}.resources: Forbidden: HugePages require cpu or memory`],
  [
    limits({ 'hugepages-2Mi': '3Mi', cpu: '1' }),
    `${c}.resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
    `${c}.resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
  ],
  [
    container({ resources: { claims: [{ name: 'r' }] } }),
    `${c}.resources.claims[0]: Not found: "r": must be one of the names in pod.spec.resourceClaims which is empty`,
  ],
  [
    aManifest({
      spec: { resources: { requests: { cpu: '1' } }, containers: [{ name: 'main', image: 'x', resources: { requests: { cpu: '2' } } }] },
    }),
    'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
  ],
  // security
  [
    container({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
    `${c}.securityContext: Invalid value: {"privileged":true,"allowPrivilegeEscalation":false}: cannot set \`allowPrivilegeEscalation\` to false and \`privileged\` to true`,
  ],
  [
    container({ securityContext: { procMount: 'Unmasked' } }),
    `${c}.securityContext.procMount: Invalid value: "Unmasked": \`hostUsers\` must be false to use \`Unmasked\``,
  ],
  [
    container({ securityContext: { runAsUser: -5 } }),
    `${c}.securityContext.runAsUser: Invalid value: -5: must be between 0 and 2147483647, inclusive`,
  ],
  // init containers, sidecars and restart rules
  [
    init({ livenessProbe: { tcpSocket: { port: 1 } } }),
    'spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always',
  ],
  [
    init({ restartPolicy: 'Mostly' }),
    'spec.initContainers[0].restartPolicy: Unsupported value: "Mostly": supported values: "Always", "Never", "OnFailure"',
  ],
  [
    container({ restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] }),
    `${c}.restartPolicy: Required value: must specify restartPolicy when restart rules are used`,
  ],
  [
    container({ restartPolicy: 'Never', restartPolicyRules: [{ action: 'Reboot' }] }),
    `${c}.restartPolicyRules[0].action: Unsupported value: "Reboot": supported values: "Restart", "RestartAllContainers"`,
    `${c}.restartPolicyRules[0].exitCodes: Required value: must be specified`,
  ],
  [
    container({ resizePolicy: [{ resourceName: 'disk', restartPolicy: 'NotRequired' }] }),
    `${c}.resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"`,
  ],
];
table('an invalid container is rejected with its error', (row) => {
  for (const [manifest, ...errors] of cases) {
    row(`a container is rejected:  ${errors[0]?.slice(0, 140)}`, () => assert.deepEqual(errorsOf(manifest), errors));
  }
});

test('a pod with a sidecar, an init container and a complete container is valid', () => {
  const manifest = aManifest({
    spec: {
      initContainers: [
        {
          name: 'proxy',
          image: 'p',
          restartPolicy: 'Always',
          startupProbe: { tcpSocket: { port: 'admin' } },
          ports: [{ name: 'admin', containerPort: 1 }],
        },
        { name: 'setup', image: 's', command: ['true'] },
      ],
      volumes: [{ name: 'v', emptyDir: { medium: 'Memory', sizeLimit: '1Gi' } }],
      containers: [
        {
          name: 'main',
          image: 'x',
          env: [
            { name: 'MY_POD', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
            { name: 'odd name!', value: '$(MY_POD)' },
          ],
          volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: 'IfPossible' }],
          resources: { limits: { cpu: '1', 'example.com/gpu': '2', 'hugepages-2Mi': '4Mi' } },
          lifecycle: { preStop: { sleep: { seconds: 0 } } },
          securityContext: { capabilities: { add: ['NET_ADMIN'] }, allowPrivilegeEscalation: false },
        },
      ],
    },
  });
  assert.equal(decodedPod(manifest).spec.initContainers?.length, 2);
});
