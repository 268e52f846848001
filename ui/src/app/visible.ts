// Characters that are not seen but act: they turn the direction of a line round, hide text, or do nothing at all. In text
// to be read and checked they are shown by their number, so that what is read is what is there.
const ACTING = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/;

export interface Piece {
  text: string;
  acting: boolean; // `text` is the character's number, U+202E
}

const numberOf = (character: string): string => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Text cut at what acts. Joiners that writing needs (Persian, emoji) stay text. */
export function piecesOf(text: string): Piece[] {
  if (!ACTING.test(text)) return text === '' ? [] : [{ text, acting: false }];
  const pieces: Piece[] = [];
  let plain = '';
  for (const character of text) {
    if (!ACTING.test(character)) {
      plain += character;
      continue;
    }
    if (plain !== '') pieces.push({ text: plain, acting: false });
    plain = '';
    pieces.push({ text: numberOf(character), acting: true });
  }
  if (plain !== '') pieces.push({ text: plain, acting: false });
  return pieces;
}

/** The first `limit` characters, never half of one. */
export function headOf(text: string, limit: number): string {
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit);
}
