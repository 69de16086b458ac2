import { parentPort, workerData } from 'node:worker_threads';
import TurndownService from 'turndown';
import { z } from 'zod';

/** Runs in its own thread, because a hostile page can make the conversion last forever. */
const { html, url } = z.object({ html: z.string(), url: z.string() }).parse(workerData);

const NOT_TEXT = ['script', 'style', 'noscript', 'template', 'iframe', 'object', 'canvas', 'title'] as const;

const service = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
service.remove([...NOT_TEXT]);
service.remove((node) => node.nodeName === 'svg' || node.nodeName === 'SVG');
service.addRule('link', {
  filter: 'a',
  replacement(content, node) {
    const href = URL.parse(node.getAttribute('href') ?? '', url);
    const isLink = href !== null && /^https?:$/.test(href.protocol) && content.trim() !== '';
    return isLink && node.hasAttribute('href') ? `[${content}](${href.href})` : content;
  },
});
service.addRule('image', {
  filter: 'img',
  replacement: (_content, node) => node.getAttribute('alt')?.trim() ?? '',
});
service.addRule('cell', {
  filter: ['td', 'th'],
  replacement: (content) => ` ${content.trim().replace(/\s*\n\s*/g, ' ')} |`,
});
service.addRule('row', { filter: 'tr', replacement: (content) => `\n|${content}` });

/** Limits the result: a page of short links with a long base address becomes far larger than the page. */
const MAX_CHARS = 4_000_000;

const markdown = service.turndown(html).replace(/\n{3,}/g, '\n\n');
const cut = `${markdown.slice(0, MAX_CHARS)}\n\n[cut: the page goes on]`;
parentPort?.postMessage(markdown.length > MAX_CHARS ? cut : markdown);
