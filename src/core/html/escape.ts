/** Text as HTML. Characters that control a terminal or turn the direction of a text become spaces. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Harmless as text and as the value of a quoted attribute. */
export function escapeHtml(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\P{Cc}\n\t]|[\u2028-\u202e\u2066-\u2069]/gu, ' ')
    .replace(/[&<>"']/g, (character) => entities[character] ?? '')
}
