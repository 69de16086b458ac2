import { FleetError, isJsonObject } from '@hermes-fleet/protocol';
import { parse } from 'yaml';

export interface Skill {
  readonly name: string;
  readonly description: string;
}

interface Section {
  readonly level: number;
  readonly title: string;
  readonly lines: readonly string[];
}

/**
 * Reads IDENTITY.md: front matter (`name`, `description`, `tags`) and Markdown (docs/configuration.md#identitymd). The
 * name comes from the front matter or else the first heading, the description from the front matter or else the first
 * paragraph. Skills are the bullets and H3 headings of a section `## Skills`, or else the H2 sections. Throws
 * CONFIG_INVALID for front matter that is not a YAML map.
 */
export function readIdentity(text: string) {
  const { front, body } = splitFrontMatter(text.replace(/\r\n?/g, '\n'));
  const sections = readSections(body);
  const title = sections.find(({ level }) => level === 1)?.title;
  const name = stringOf(front.name) ?? title ?? 'agent';
  const paragraph = sections.map(({ lines }) => firstParagraph(lines)).find((found) => found !== '');
  return {
    name,
    description: stringOf(front.description) ?? paragraph ?? name,
    tags: Array.isArray(front.tags) ? front.tags.filter((tag): tag is string => typeof tag === 'string') : [],
    skills: readSkills(sections),
  };
}

function splitFrontMatter(text: string): { front: Record<string, unknown>; body: string } {
  const match = /^\uFEFF?---\n([\s\S]*?)(?:^|\n)---[ \t]*(?:\n|$)/.exec(text);
  if (match === null) return { front: {}, body: text };
  return { front: readFrontMatter(match[1] ?? ''), body: text.slice(match[0].length) };
}

function readFrontMatter(source: string): Record<string, unknown> {
  let front: unknown;
  try {
    front = parse(source);
  } catch (cause) {
    const reason = 'is not valid YAML; fix it or remove the lines between the two "---"';
    throw new FleetError('CONFIG_INVALID', `the front matter of IDENTITY.md ${reason}`, {
      fields: [{ path: 'IDENTITY.md', reason: `front matter ${reason}` }],
      cause,
    });
  }
  if (front === null || front === undefined) return {};
  if (isJsonObject(front)) return front;
  const reason = 'front matter must be a map, such as "name: neo"';
  throw new FleetError('CONFIG_INVALID', `IDENTITY.md: ${reason}`, {
    fields: [{ path: 'IDENTITY.md', reason }],
  });
}

/** The headings outside code fences, each with its lines; text before the first heading has level 0. */
function readSections(body: string): Section[] {
  const sections: { level: number; title: string; lines: string[] }[] = [{ level: 0, title: '', lines: [] }];
  let fence: string | undefined;
  for (const line of body.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined && (fence === undefined || closes(fence, mark))) {
      fence = fence === undefined ? mark : undefined;
      continue;
    }
    if (fence !== undefined) continue;
    const [, hashes, title] = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$/.exec(line) ?? [];
    if (hashes !== undefined && title)
      sections.push({ level: hashes.length, title: plain(title), lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections;
}

const closes = (fence: string, mark: string): boolean => mark[0] === fence[0] && mark.length >= fence.length;

function readSkills(sections: readonly Section[]): Skill[] {
  const at = sections.findIndex(({ level, title }) => level === 2 && /^skills$/i.test(title));
  const found = sections[at];
  if (found === undefined) {
    return headedSkills(sections, 2);
  }
  const rest = sections.slice(at + 1);
  const end = rest.findIndex(({ level }) => level <= 2);
  const below = end === -1 ? rest : rest.slice(0, end);
  return [...readBullets(found.lines), ...headedSkills(below, 3)];
}

const headedSkills = (sections: readonly Section[], level: number): Skill[] =>
  sections
    .filter((section) => section.level === level)
    .map(({ title, lines }) => ({ name: title, description: firstParagraph(lines) || title }));

/** Reads `- **Name**: description`, `- Name - description` or `- Name`; an indented line continues the item above. */
function readBullets(lines: readonly string[]): Skill[] {
  const items: string[] = [];
  for (const line of lines) {
    const item = /^ {0,3}[-*+][ \t]+(.+)$/.exec(line)?.[1];
    if (item !== undefined) items.push(item);
    else if (/^[ \t]+\S/.test(line) && items.length > 0) items.push(`${items.pop()} ${line.trim()}`);
  }
  return items.map((item) => {
    const [, name, description] = /^(.+?)(?::\s+|\s+[-–—]\s+)(.+)$/.exec(plain(item)) ?? [];
    return name && description ? { name, description } : { name: plain(item), description: plain(item) };
  });
}

function firstParagraph(lines: readonly string[]): string {
  const from = lines.findIndex((line) => /\S/.test(line));
  if (from === -1) return '';
  const rest = lines.slice(from);
  const to = rest.findIndex((line) => !/\S/.test(line));
  return plain((to === -1 ? rest : rest.slice(0, to)).map((line) => line.trim()).join(' '));
}

/** Strips Markdown emphasis, code marks and link targets. */
function plain(text: string): string {
  return text
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\*\*|__|`/g, '')
    .trim();
}

const stringOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
