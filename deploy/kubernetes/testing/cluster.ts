import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { Manifest } from './render.ts';

type Labels = Readonly<Record<string, string>>;
interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** A pod as a workload of the rendered manifests makes it. */
export interface Pod {
  /** `StatefulSet neo`. */
  readonly workload: string;
  readonly name: string;
  readonly labels: Labels;
  // biome-ignore lint/suspicious/noExplicitAny: the specification of a pod under test
  readonly spec: any;
  readonly manifest: Manifest;
}

const WORKLOADS = new Set(['StatefulSet', 'Job']);

/** The first pod of each workload. */
export function podsOf(manifests: readonly Manifest[]): Pod[] {
  return manifests
    .filter(({ kind }) => WORKLOADS.has(kind))
    .map((manifest) => {
      const { name } = manifest.metadata;
      const first = manifest.spec.ordinals?.start ?? 0;
      const stateful = manifest.kind === 'StatefulSet';
      const { metadata, spec } = manifest.spec.template;
      return {
        workload: `${manifest.kind} ${name}`,
        name: stateful ? `${name}-${first}` : name,
        labels: {
          ...metadata.labels,
          // Kubernetes itself gives these to the pods of a StatefulSet.
          ...(stateful ? { 'apps.kubernetes.io/pod-index': String(first) } : {}),
        },
        spec,
        manifest,
      };
    });
}

/** True if a selector selects these labels. An empty selector selects everything. */
export function selects(selector: Selector, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const isIn = values.includes(labels[key] ?? '');
      if (operator === 'In') return isIn;
      if (operator === 'NotIn') return !isIn;
      throw new Error(`the test knows no operator ${operator}`);
    })
  );
}

/** The environment of a pod's first container: ConfigMaps, then its own variables with what they refer to. */
export function environmentOf(pod: Pod, manifests: readonly Manifest[]): Record<string, string> {
  const [container] = pod.spec.containers;
  const env: Record<string, string> = {};
  for (const { configMapRef } of container.envFrom ?? [])
    if (configMapRef) Object.assign(env, find(manifests, 'ConfigMap', configMapRef.name).data);
  for (const { name, value, valueFrom } of container.env ?? []) {
    const path: string | undefined = valueFrom?.fieldRef.fieldPath;
    const label = path === undefined ? undefined : /^metadata\.labels\['(.+)'\]$/.exec(path)?.[1];
    const text = label === undefined ? (path === 'metadata.name' ? pod.name : value) : pod.labels[label];
    if (typeof text !== 'string') throw new Error(`${pod.name}: ${name} has no value`);
    env[name] = text.replace(/\$\((\w+)\)/g, (whole: string, other: string) => env[other] ?? whole);
  }
  return env;
}

export function find(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === name);
  if (!found) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

export interface Destination {
  readonly pods: readonly Pod[];
  /** The port of the pods. */
  readonly port: number;
}

/** Where an address leads: through a Service, or to one pod by its name and that of its headless Service. */
export function resolve(manifests: readonly Manifest[], host: string, port: number): Destination {
  const [first = '', second] = host.split('.');
  const service = find(manifests, 'Service', second ?? first);
  const entry = service.spec.ports.find((each: JsonObject) => each.port === port);
  if (!entry) throw new Error(`Service ${service.metadata.name} has no port ${port}`);
  const selected = podsOf(manifests).filter(({ labels }) =>
    selects({ matchLabels: service.spec.selector }, labels),
  );
  const pods = second === undefined ? selected : selected.filter(({ name }) => name === first);
  const [pod] = pods;
  if (!pod) throw new Error(`${host} leads to no pod`);
  return { pods, port: portOf(pod, entry.targetPort) };
}

export function portOf(pod: Pod, port: string | number): number {
  if (typeof port === 'number') return port;
  const found = pod.spec.containers
    .flatMap(({ ports = [] }) => ports)
    .find((each: JsonObject) => each.name === port);
  if (!found) throw new Error(`${pod.name} has no port ${port}`);
  return found.containerPort;
}

/** True if the network policies let one pod connect to a port of another one, at both ends. */
export function mayConnect(manifests: readonly Manifest[], from: Pod, to: Pod, port: number): boolean {
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
  const allows = (direction: 'Ingress' | 'Egress', pod: Pod, other: Pod): boolean => {
    const applied = policies.filter(
      ({ spec }) => spec.policyTypes.includes(direction) && selects(spec.podSelector, pod.labels),
    );
    const [rules, peers] =
      direction === 'Ingress' ? (['ingress', 'from'] as const) : (['egress', 'to'] as const);
    const matches = (rule: JsonObject): boolean =>
      list(rule[peers]).some((peer) => selectsPeer(peer, other)) &&
      list(rule.ports).some((each) => portOf(to, each.port as string | number) === port);
    return applied.length === 0 || applied.some(({ spec }) => list(spec[rules]).some(matches));
  };
  return allows('Egress', from, to) && allows('Ingress', to, from);
}

const list = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/** Pods of the same namespace. */
function selectsPeer({ podSelector, namespaceSelector }: JsonObject, pod: Pod): boolean {
  if (podSelector === undefined) return false;
  const everywhere = namespaceSelector === undefined || JSON.stringify(namespaceSelector) === '{}';
  return everywhere && selects(podSelector as Selector, pod.labels);
}
