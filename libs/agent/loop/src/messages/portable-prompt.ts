import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { wrapLanguageModel } from 'ai';
import { meantTool } from './tool-names.ts';

/**
 * A model that is sent conversations in a form that any server takes back: ids of tool calls are unique in it and at most
 * nine letters and digits, names of tools match `[A-Za-z0-9_-]{1,64}`, and no assistant message is empty: the messages of
 * the user around one are joined. Ids stay where the provider looks for them.
 */
export function withPortablePrompt(model: LanguageModelV4): LanguageModelV4 {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      transformParams: async ({ params }) => {
        const offered = new Set((params.tools ?? []).map(({ name }) => name));
        return { ...params, prompt: portable(params.prompt, offered, model.provider) };
      },
    },
  });
}

function portable(
  prompt: LanguageModelV4Prompt,
  offered: ReadonlySet<string>,
  provider: string,
): LanguageModelV4Prompt {
  const kept = KEPT.find(([name]) => name.test(provider))?.[1];
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  function newId(id: string): string {
    const isFree = /^[A-Za-z0-9]{1,9}$/.test(id) && !taken.has(id);
    const own = isFree ? id : nextId(taken);
    taken.add(own);
    ids.set(id, own);
    return own;
  }
  const sent: LanguageModelV4Prompt = [];
  let isLeftOut = false;
  for (const message of prompt) {
    const last = sent.at(-1);
    if (message.role === 'assistant') {
      const isKept = kept?.test(JSON.stringify(message)) === true;
      const content = message.content
        .filter((part) => part.type !== 'text' || part.text.trim() !== '')
        .map((part) => {
          if (part.type !== 'tool-call' || part.providerExecuted || isKept) return part;
          const toolCallId = newId(part.toolCallId);
          return { ...part, toolCallId, toolName: portableName(part.toolName, offered) };
        });
      isLeftOut = content.every(({ type }) => type === 'reasoning');
      if (!isLeftOut) sent.push({ ...message, content });
    } else if (message.role === 'tool') {
      const content = message.content.map((part) => {
        if (part.type !== 'tool-result') return part;
        const toolCallId = ids.get(part.toolCallId) ?? part.toolCallId;
        return { ...part, toolCallId, toolName: portableName(part.toolName, offered) };
      });
      sent.push({ ...message, content });
    } else if (message.role === 'user' && last?.role === 'user' && isLeftOut)
      sent.splice(-1, 1, { ...last, content: joined([...last.content, ...message.content]) });
    else sent.push(message);
  }
  return sent;
}

type UserContent = Extract<LanguageModelV4Prompt[number], { role: 'user' }>['content'];

/** Texts as one: not every server takes several parts. */
const joined = (content: UserContent): UserContent =>
  content.every((part) => part.type === 'text')
    ? [{ type: 'text', text: content.map(({ text }) => text).join('\n\n') }]
    : content;

/** An id of ours that no call has: `call00001`, `call00002`, and so on. */
function nextId(taken: ReadonlySet<string>): string {
  for (let number = taken.size + 1; ; number += 1) {
    const id = `call${String(number).padStart(5, '0')}`;
    if (!taken.has(id)) return id;
  }
}

/** The fields by which a message shows that its provider looks for the ids: items that it stores, or reasoning that names them. */
const KEPT: readonly (readonly [provider: RegExp, field: RegExp])[] = [
  [/\.responses$/, /"itemId":/],
  [/^openrouter/, /"reasoning_details":\[\{[^\]]*"id":"/],
];

/** A name that any provider takes stays as the model wrote it. */
const portableName = (name: string, offered: ReadonlySet<string>): string =>
  /^[\w-]{1,64}$/.test(name)
    ? name
    : (meantTool(name, offered) ?? (name.replace(/[^\w-]+/g, '_').slice(0, 64) || 'unnamed'));
