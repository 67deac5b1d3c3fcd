/**
 * Generates the TypeScript code of each wire protocol from its descriptor in `proto/` (names, numbers and types only).
 *
 *   npm run generate              writes the folders of `outputs`
 *   npm run generate -- --check   fails when the committed code differs from the generated code
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Field {
  readonly type: string;
  readonly id: number;
  readonly rule?: 'repeated';
  readonly keyType?: string;
  readonly options?: { readonly proto3_optional?: boolean };
}
interface Method {
  readonly requestType: string;
  readonly responseType: string;
  readonly requestStream?: boolean;
  readonly responseStream?: boolean;
}
interface Declaration {
  readonly fields?: Readonly<Record<string, Field>>;
  readonly values?: Readonly<Record<string, number>>;
  readonly methods?: Readonly<Record<string, Method>>;
  readonly nested?: Readonly<Record<string, Declaration>>;
}

const root = join(import.meta.dirname, '..');
const outputs = [
  { descriptor: 'cri-v1.json', package: 'runtime.v1', into: 'src/shared/cri/generated' },
  { descriptor: 'pods-v1alpha1.json', package: 'v1alpha1', into: 'src/workers/server/pods-api/generated' },
  { descriptor: 'podresources-v1.json', package: 'v1', into: 'src/shared/pod-resources/generated' },
  { descriptor: 'csi-v1.json', package: 'csi.v1', into: 'src/workers/volumes/csi/generated' },
  { descriptor: 'pluginregistration-v1.json', package: 'pluginregistration', into: 'src/workers/plugins/registration/generated' },
];

function fieldText(name: string, field: Field): string {
  const type = field.keyType === undefined ? field.type : `map<${field.keyType}, ${field.type}>`;
  const label = field.rule === 'repeated' ? 'repeated ' : field.options?.proto3_optional ? 'optional ' : '';
  return `${label}${type} ${name} = ${field.id};`;
}

function methodText(name: string, method: Method): string {
  const request = `${method.requestStream ? 'stream ' : ''}${method.requestType}`;
  const response = `${method.responseStream ? 'stream ' : ''}${method.responseType}`;
  return `rpc ${name}(${request}) returns (${response});`;
}

function declarationText(name: string, declaration: Declaration): string {
  if (declaration.values) {
    const values = Object.entries(declaration.values).map(([key, value]) => `  ${key} = ${value};`);
    return `enum ${name} {\n${values.join('\n')}\n}`;
  }
  if (declaration.methods) {
    const methods = Object.entries(declaration.methods).map(([key, value]) => `  ${methodText(key, value)}`);
    return `service ${name} {\n${methods.join('\n')}\n}`;
  }
  const nested = Object.entries(declaration.nested ?? {}).map(([key, value]) => declarationText(key, value));
  const fields = Object.entries(declaration.fields ?? {}).map(([key, value]) => `  ${fieldText(key, value)}`);
  return `message ${name} {\n${[...nested, ...fields].join('\n')}\n}`;
}

function protoText(descriptorFile: string, packageName: string): string {
  let scope = JSON.parse(readFileSync(join(root, 'proto', descriptorFile), 'utf8')) as Declaration;
  for (const part of packageName.split('.')) {
    const inner = scope.nested?.[part];
    if (!inner) throw new Error(`${descriptorFile}: no package ${packageName}`);
    scope = inner;
  }
  const body = Object.entries(scope.nested ?? {}).map(([name, declaration]) => declarationText(name, declaration));
  return `syntax = "proto3";\npackage ${packageName};\n\n${body.join('\n\n')}\n`;
}

function generate(descriptor: string, packageName: string, into: string): void {
  const work = mkdtempSync(join(tmpdir(), 'generate-protocols-'));
  try {
    const plugin = join(root, 'node_modules/.bin/protoc-gen-ts_proto');
    const options =
      'enumsAsLiterals=true,outputJsonMethods=false,outputPartialMethods=true,forceLong=bigint,importSuffix=.ts,outputServices=generic-definitions,esModuleInterop=true,useReadonlyTypes=false';
    const template = { version: 'v2', plugins: [{ local: plugin, out: into, opt: options.split(',') }] };
    mkdirSync(into, { recursive: true });
    writeFileSync(join(work, descriptor.replace('.json', '.proto')), protoText(descriptor, packageName));
    writeFileSync(join(work, 'buf.yaml'), 'version: v2\n');
    execFileSync(join(root, 'node_modules/.bin/buf'), ['generate', '--template', JSON.stringify(template)], {
      cwd: work,
      stdio: 'inherit',
    });
  } finally {
    rmSync(work, { recursive: true });
  }
}

const check = process.argv.includes('--check');
for (const { descriptor, package: packageName, into } of outputs) {
  const committed = join(root, into);
  const target = check ? mkdtempSync(join(tmpdir(), 'generated-')) : committed;
  generate(descriptor, packageName, target);
  if (!check) continue;
  for (const file of readdirSync(target)) {
    let now = '';
    try {
      now = readFileSync(join(committed, file), 'utf8');
    } catch {
      // A missing file is reported by the comparison below.
    }
    if (now !== readFileSync(join(target, file), 'utf8')) {
      console.error(
        `${into}/${file} differs from the code generated from proto/${descriptor}: run "npm run generate" and commit the result`,
      );
      process.exitCode = 1;
    }
  }
  rmSync(target, { recursive: true });
}
