const ACTS =
  'create|write|add|edit|fix|update|(?:re-?)?run|(?:re-?|double-)?check|look|implement|start|begin|make|proceed|' +
  'continue|read|re-read|examine|inspect|' +
  'verify|test|open|search|modify|install|refactor|explore|rename|remove|delete|change|move|replace|apply|build|try|' +
  'investigate|analy[sz]e|review|set up|go|do|get|find|use|call|execute|list|view|see|correct|adjust|rewrite|work|generate|' +
  'finish|complete|perform|fetch|commit|put|save|append|insert|configure';
const DOING =
  'creating|writing|adding|editing|fixing|updating|running|checking|implementing|starting|applying|proceeding';
const LEAD =
  '(?:(?:now|next(?: steps?)?|first|then|so|okay|ok|great|sure|alright|perfect|good|finally|and)[,.!:]?\\s+)*';
const WILL =
  "(?:I'll|I will|I(?:'m| am) (?:now )?(?:going|about) to|let me|let's|I need to|I still need to|I have to|" +
  "my next step is to|I should now|(?<=\\bnow[,.!:]?\\s+)I should|it's time to)";
const ADVERB =
  '(?:(?:now|next|then|also|first|just|quickly|go ahead and|start by|begin by|continue to)\\s+)*';
/** Work of a team is meant for now only if it says so: a release note and a review say "we will" as well. */
const WE =
  "(?:(?<=\\b(?:now|next)[,.!:]?\\s+)we(?:'ll| will| need to)|we(?:'ll| will| need to) (?:now|next))";

/** What is to be done: "I'll create", "Next, we will add", "My next step is to write". */
const INTENTION = new RegExp(`^${LEAD}(?:${WILL}|${WE})\\s+${ADVERB}(?:${ACTS})(?:ing)?\\b`, 'i');
/** What is being done: "I'm now editing", "I'm editing the file now". */
const DOES = new RegExp(
  `^${LEAD}(?:I'm|I am|we're|we are) (?:now (?:${DOING})\\b|(?:${DOING})\\b.*\\bnow[.!…]*$)|` +
    `^${LEAD}(?<=\\bnow[,.!:]?\\s+)(?:I'm|I am|we're|we are) (?:${DOING})\\b`,
  'i',
);
/** The same without a subject: "Creating the file now". */
const ENDS_WITH_NOW = new RegExp(
  `^${LEAD}(?:${DOING})\\b(.*?)(?:\\bnow(?: to\\b.*)?[.!]*|…|\\.\\.\\.|:)$`,
  'i',
);
/** "Now adding tests", "Proceeding to test". */
const BEGINS_WITH_NOW = new RegExp(
  `^${LEAD}(?:(?<=\\bnow[,.!:]?\\s+)(?:${DOING})|(?:proceeding|moving on|continuing) (?:to|with))\\b(.*)`,
  'i',
);
/** A verb whose subject is the gerund: "Starting the server takes 2 s now." */
const STATEMENT = new RegExp(
  '(?<!\\b(?:the|an?|all|of|these|those|more|new) )\\b(?:' +
    [
      'is|are|was|were|has|have|had|does|did|can|could|must|should|will',
      'would|may|might|gives|prints|shows|outputs|returns|yields|produces|reports|raises|throws|fails|passes|works',
      'looks|takes|needs|requires|bumps|sends|costs|leaves|means|leads|makes|keeps|verifies|happens|accepts|rejects',
      'allows|emits|saves|triggers|causes|stays|remains|depends|becomes|includes|creates|removes|adds|writes|also',
      'no longer',
    ].join('|') +
    ')\\b',
  'i',
);
/** The beginning of a clause with a verb of its own. */
const CLAUSE = /\s(?:that|which|who|whether|if|so|because|since)\s/i;
/** Nothing is to be done ("I will make no changes"), or only something is said ("Let me add one remark"). */
const NO_WORK = new RegExp(
  `\\b(?:${ACTS})(?:ing)?\\s+(?:no|nothing|none|neither)\\b|\\bnothing (?:else|more|is left|remains)\\b|` +
    '\\badd (?:that (?:the|this|it|there|all|no)|(?:one|a|two)(?: \\w+)? (?:thing|caveat|remark|point|word)s?)\\b|' +
    "\\bcall (?:it|out)\\b|\\bwe(?:'ll| will)(?: now| next)? see\\b|\\blist\\b.*:\\s*\\S",
  'i',
);
/** An offer, a condition, or something for later: the work does not depend on it. */
const OFFER = new RegExp(
  '\\b(?:' +
    [
      'if you|should you|once you|when you|whenever|unless|until|as soon as|on request|would you|do you want|you can|for you to',
      '(?<!\\b(?:check|checking|see|verify|test|find out) )if (?:it|that|this|they)',
      'when (?:it|they) (?:runs?|arrives?|ends?|finish(?:es)?|comes?)|wait for|let me know|please (?!wait|hold|stand|bear)',
      'again (?:after|when|once)|(?:is|are|was|been) (?:decided|chosen|approved|agreed|merged|released)',
      '(?:get|have|need|without|for|after|before) your \\w+',
      'in (?:the )?future|later|tomorrow|in an? (?:separate|future|follow-up)|separately|follow-up',
      'in another (?:task|change|commit|pull request|PR)|next (?:release|version|sprint|task|week|time)',
    ].join('|') +
    ')\\b|\\?\\s*$',
  'i',
);
/** A last sentence that only accompanies the announcement before it. */
const FILLER =
  /^(?:(?:this|it|that) (?:will|may|might|should take)\b|(?:just )?(?:one|a) (?:moment|second|minute)\b|please (?:wait|hold|stand|bear)\b|hold on\b|stand by\b|bear with\b|(?:after|once) (?:that|this)\b|afterwards\b)/i;

/** True if the end of a text says what the model does next: its last sentence, or the one before a filler. */
export function announces(prose: string): boolean {
  const line = prose.split('\n').findLast((one) => /[\p{L}\p{N}]/u.test(one) && !/^\s*>/.test(one)) ?? '';
  const sentences = line
    .replace(/’/g, "'")
    .replace(/[*_]/g, '')
    .replace(/"[^"]*"|“[^”]*”|„[^“]*“/g, '""')
    .split(/(?<=[.!?…])\s+(?=[A-Z"'(])/)
    .map((one) => one.replace(/^[^\p{L}\p{N}"'(`]+/u, '').trim())
    .filter((one) => one !== '');
  const [before = '', last = ''] = ['', ...sentences].slice(-2);
  return isAnnouncement(last) || (FILLER.test(last) && isAnnouncement(before));
}

function isAnnouncement(sentence: string): boolean {
  if (OFFER.test(sentence) || NO_WORK.test(sentence)) return false;
  if (INTENTION.test(sentence) || DOES.test(sentence)) return true;
  const [, object] = ENDS_WITH_NOW.exec(sentence) ?? [];
  if (object !== undefined) return !STATEMENT.test(object);
  const [, rest] = BEGINS_WITH_NOW.exec(sentence) ?? [];
  return rest !== undefined && !STATEMENT.test(rest.split(CLAUSE, 1)[0] ?? '');
}
