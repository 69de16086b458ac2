import type { AgentCard, AgentSkill } from '@a2a-js/sdk';
import { HANDSHAKE_MEDIA_TYPE, type JsonObject } from '@hermes-fleet/protocol';
import { readIdentity, type Skill } from './identity.ts';

export interface CardOptions {
  /** The text of IDENTITY.md. */
  readonly identity: string;
  /** The public JSON-RPC URL, not the bind address. */
  readonly url: string;
  readonly version: string;
  readonly extensions: readonly { readonly uri: string; readonly params?: JsonObject }[];
  readonly streaming: boolean;
  /** Default false. */
  readonly pushNotifications?: boolean;
  readonly authRequired: boolean;
  /** Media types that messages may have beside text, JSON and the handshake; ranges such as `image/*` too. Default: none. */
  readonly inputModes?: readonly string[];
}

const MODES = ['text/plain', 'application/json', HANDSHAKE_MEDIA_TYPE];

/** Builds an agent card from IDENTITY.md (docs/configuration.md#identitymd). Serialize it with AgentCard.toJSON. */
export function buildAgentCard(options: CardOptions): AgentCard {
  const { name, description, tags, skills } = readIdentity(options.identity);
  const offered = skills.length > 0 ? skills : [{ name, description }];
  return {
    name,
    description,
    supportedInterfaces: ['1.0', '0.3'].map((protocolVersion) => ({
      url: options.url,
      protocolBinding: 'JSONRPC',
      tenant: '',
      protocolVersion,
    })),
    provider: undefined,
    version: options.version,
    capabilities: {
      streaming: options.streaming,
      // It has to require authentication (A2A 1.0, section 13.3).
      extendedAgentCard: options.authRequired,
      pushNotifications: options.pushNotifications ?? false,
      extensions: options.extensions.map(({ uri, params }) => ({
        uri,
        description: '',
        required: false,
        params,
      })),
    },
    securitySchemes: options.authRequired
      ? {
          bearer: {
            scheme: {
              $case: 'httpAuthSecurityScheme',
              value: { scheme: 'Bearer', bearerFormat: '', description: 'One token per caller' },
            },
          },
        }
      : {},
    securityRequirements: options.authRequired ? [{ schemes: { bearer: { list: [] } } }] : [],
    defaultInputModes: [...new Set([...MODES, ...(options.inputModes ?? [])])],
    defaultOutputModes: MODES,
    skills: toSkills(offered, tags.length > 0 ? tags : [slug(name)]),
    signatures: [],
  };
}

function toSkills(skills: readonly Skill[], tags: readonly string[]): AgentSkill[] {
  const taken = new Set<string>();
  return skills.map(({ name, description }) => ({
    id: unique(slug(name), taken),
    name,
    description,
    tags: [...tags],
    examples: [],
    inputModes: [],
    outputModes: [],
    securityRequirements: [],
  }));
}

/** Keeps letters and digits of any script and turns the rest into dashes; `skill` when nothing is left. */
function slug(title: string): string {
  const bare = title
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .normalize('NFKC')
    .toLowerCase();
  return bare.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '') || 'skill';
}

function unique(wanted: string, taken: Set<string>): string {
  let id = wanted;
  for (let n = 2; taken.has(id); n += 1) id = `${wanted}-${n}`;
  taken.add(id);
  return id;
}
