/**
 * The model of report_visitor_day: visits by the day on which they began, and who began
 * conversations on that day.
 */
import type { ModelFacts } from '../facts.ts'
import { countWhere, sum } from '../grouping.ts'
import { type ModelRow, seconds } from '../raw-rows.ts'

export function visitorDays({ visits, conversations }: ModelFacts): ModelRow[] {
  const contacts = conversations.filter(
    ({ visitor_id, created_date }) => visitor_id !== null && created_date !== null,
  )
  const days = new Set([
    ...visits.map((visit) => visit.started_date),
    ...contacts.map((contact) => contact.created_date),
  ])
  return [...days].map((date) => {
    const ofDay = visits.filter(({ started_date }) => started_date === date)
    const visitors = new Set(ofDay.map(({ visitor_id }) => visitor_id))
    const isNew = (visitor: string) =>
      !visits.some((visit) => visit.visitor_id === visitor && visit.started_date < String(date))
    const newVisitors = countWhere([...visitors], isNew)
    const contactsOfDay = contacts.filter(({ created_date }) => created_date === date)
    return {
      date,
      visits: ofDay.length,
      visitors: visitors.size,
      new_visitors: newVisitors,
      returning_visitors: visitors.size - newVisitors,
      entries: sum(ofDay.map(({ entries }) => entries)),
      visit_seconds: sum(ofDay.map((visit) => visit.seconds)),
      contacting_visitors: new Set(contactsOfDay.map(({ visitor_id }) => visitor_id)).size,
      first_contacts: countWhere(
        contactsOfDay,
        (contact) => contact === firstContact(contact.visitor_id, contacts),
      ),
    }
  })
}

type Contact = ModelFacts['conversations'][number]

/** Of two in one second, the one with the lower id. */
function firstContact(visitor: string | null, contacts: readonly Contact[]): Contact | undefined {
  const createdAt = (contact: Contact) => seconds(contact.created_at ?? '')
  return contacts
    .filter(({ visitor_id }) => visitor_id === visitor)
    .sort(
      (a, b) => createdAt(a) - createdAt(b) || (a.conversation_id < b.conversation_id ? -1 : 1),
    )[0]
}
