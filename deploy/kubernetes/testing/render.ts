import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { parseAllDocuments } from 'yaml';

/** A manifest as kubectl prints it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  // biome-ignore lint/suspicious/noExplicitAny: a manifest under test has whatever the overlay gives it
  readonly [key: string]: any;
}

export const OVERLAYS: readonly string[] = ['small', 'large'];

/** Why no overlay can be rendered here, or false. */
export function withoutKubectl(): string | false {
  const { status, stdout } = spawnSync('kubectl', ['version', '--client', '-o', 'json'], {
    encoding: 'utf8',
  });
  if (status !== 0) return 'there is no kubectl';
  const version: unknown = JSON.parse(stdout);
  const kustomize = isJsonObject(version) ? version.kustomizeVersion : undefined;
  return typeof kustomize === 'string' && Number(/^v(\d+)/.exec(kustomize)?.[1]) >= 5
    ? false
    : 'kubectl is older than 1.27: its kustomize is not of version 5';
}

export const id = ({ kind, metadata }: Pick<Manifest, 'kind' | 'metadata'>): string =>
  `${kind} ${metadata.name}`;

/** The manifests of an overlay. Throws what kubectl says. */
export function renderOverlay(overlay: string): Manifest[] {
  const script = join(import.meta.dirname, '../render.sh');
  const { status, stdout, stderr } = spawnSync('sh', [script, overlay], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).map((document) => {
    const value: JsonObject = document.toJS();
    if (typeof value.kind !== 'string')
      throw new Error(`no manifest: ${JSON.stringify(value).slice(0, 200)}`);
    return value as unknown as Manifest;
  });
}
