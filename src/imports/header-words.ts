/**
 * What people write at the head of a column of a sheet of replies, in English and German. Words that may as well mean what
 * the customer wrote, such as "message", are left to the person who imports it. Pure.
 */

/** By column, as `toColumnKey` writes them. */
const words: Readonly<Record<string, string>> = {
  conversation_id: 'conversation konversation gespräch gesprächsid unterhaltung unterhaltungsid chat chatid',
  visitor_email: `email mail emailaddress mailaddress emailadresse mailadresse customeremail visitormail customermail
    kundenemail kundenmail besucheremail`,
  visitor_name: 'name visitor customer customername client clientname kunde kundin kundenname besucher besuchername',
  content: 'text reply replytext answer answertext response ourreply antwort antworttext unsereantwort',
  handled: 'done closed resolved completed finished erledigt geschlossen abgeschlossen gelöst fertig',
  sender_name: 'signedby absendername unterschrift',
  ref: 'reference key referenz schlüssel',
  expect: 'lastmessageid',
  expires_at: 'expires expiry validuntil notafter gültigbis läuftab ablauf',
}

const columns = new Map(
  Object.entries(words).flatMap(([column, list]) => list.split(/\s+/).map((word) => [word, column] as const)),
)

/** The column that a header of a sheet means; undefined: none. */
export function columnOfWord(key: string): string | undefined {
  return columns.get(key)
}
