"""What a card does once the guard has let a key pass: open a line, take a draft, post the decision.

Mixed into the widget, which draws and knows the keys. Whatever is posted is bound to what the guard has pinned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from textual import events

from cas_tui import text
from cas_tui.console import editor
from cas_tui.console.card import question
from cas_tui.console.card.deny import TypedArea, TypedLine, reason_of
from cas_tui.console.card.frame import Look
from cas_tui.console.card.guard import Guard
from cas_tui.console.card.options import option_of
from cas_tui.console.card.payload import SPLIT_FROM
from cas_tui.console.card.standing import Act, Do, How
from cas_tui.console.messages import ComposeMessage, Decide, LeaveCard, Say
from cas_tui.model.shapes import Card
from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.decode import Json
from cas_tui.protocol.requests import RequestKind

if TYPE_CHECKING:
    from textual.widget import Widget

    _Base = Widget
else:
    _Base = object

EDITABLE: Final[Mapping[str, tuple[str, str]]] = {
    "fs_write": ("content", ".txt"),
    "fs_patch": ("unified_diff", ".diff"),
    "git_commit": ("message", ".txt"),
}
"""For each op that can be edited: the field, and the suffix of its file in the editor."""

FORM_KEYS: Final = frozenset({"j", "k", "down", "up", "tab", "shift+tab", "space", "i", "enter", "left", "right", "f"})


class Acting(_Base):
    """Everything that follows from a key that counted."""

    if TYPE_CHECKING:
        guard: Guard
        card: Card | None
        look: Look
        line: TypedLine
        digest: TypedLine
        field: TypedLine
        area: TypedArea
        shown_at: str | None

        def now(self) -> float: ...
        def at(self, event: events.Event) -> float: ...
        def repaint(self) -> None: ...
        @property
        def is_placed(self) -> bool: ...
        def _place_fields(self) -> None: ...

    _comment = ""
    _drafts: dict[str, str]

    @property
    def is_question(self) -> bool:
        """Whether the card asks for words."""
        return self.card is not None and self.card.request.kind is RequestKind.QUESTION

    def open_fields(self) -> set[str]:
        """Which of the typed fields are on the screen."""
        found: set[str] = set()
        if self.card is None:
            return found
        if self.look.editing:
            return {"area"}
        if self.guard.line:
            found.add("line")
            option = option_of(self.card, self.guard.line)
            if option is not None and option.how in (How.APPROVE, How.COMMENT) and self.guard.needs_digest:
                found.add("digest")
        if self.is_question and self.look.typing == "text":
            found.add("area")
        if self.is_question and self.look.typing == "field":
            found.add("field")
        return found

    # What the guard said

    def obey(self, act: Act) -> None:
        """Do it."""
        if act.do in (Do.SAY, Do.DISARM, Do.DROP):
            if act.words:
                self.post_message(Say(act.words))
        elif act.do is Do.OPEN:
            self._opened(act.key)
        elif act.do is Do.DECIDE:
            self._decided(act.key)

    def _opened(self, key: str) -> None:
        option = option_of(self.card, key) if self.card else None
        if option is None:
            return
        if option.how is How.EDIT:
            self._edit()
            return
        self.line.value = ""
        self.digest.value = ""
        self.look.policy = False
        self._show_and_focus(self.line)

    def _show_and_focus(self, child: Any) -> None:
        child.display = True
        self.repaint()
        child.focus(scroll_visible=False)

    def _decided(self, key: str) -> None:
        card = self.card
        option = option_of(card, key) if card else None
        if card is None or option is None:
            return
        comment, arguments = "", dict(option.arguments)
        if option.how in (How.LINE, How.AFTER):
            comment = self.line.value.strip()
        elif option.how in (How.APPROVE, How.COMMENT):
            comment = self._comment
        if option.how is How.SEND:
            arguments |= question.arguments(card, self.look.answer)
        if option.verdict is Verdict.DENY and self.look.policy:
            arguments["as_policy"] = True
        self._send(option.verdict, comment, arguments)

    def _send(self, verdict: Verdict, comment: str, arguments: dict[str, Json]) -> None:
        card = self.card
        assert card is not None
        self._comment = ""
        self._close()
        self.post_message(
            Decide(
                root=card.request.root,
                request_id=card.request.request_id,
                verdict=verdict,
                digest=self.guard.digest,
                comment=comment,
                arguments=arguments,
                shown_at=self.shown_at,
                full_view=self.guard.all_seen,
            )
        )

    # Lines

    def _close(self) -> None:
        """No field is open any more; the keys are the card's again."""
        typing = self.has_focus_within and not self.has_focus
        self.look.typing = ""
        self.look.editing = False
        for child in (self.line, self.digest, self.field, self.area):
            child.display = False
        if typing:
            self.focus(scroll_visible=False)

    def _leave_lines(self, old: Card | None) -> None:
        """Another card is shown: what was typed for the old one is not for the new one."""
        if self.look.typing == "text":
            self.look.answer.text = self.area.text
        self._comment = ""
        if self.is_placed:
            self._close()

    def line_key(self, child: TypedLine, event: events.Key) -> None:
        """A key in the reason, the comment or the digest."""
        at, name = self.at(event), event.key
        take = name in ("enter", "escape", "tab", "shift+tab", "ctrl+s")
        fresh = self.guard.typed(name, at, printable=event.is_printable and not take)
        option = option_of(self.card, self.guard.line) if self.card else None
        if not fresh or take:
            event.stop()
            event.prevent_default()
        if not fresh or option is None:
            return
        if name == "escape":
            self.guard.close_line(at)
            self._close()
        elif name in ("tab", "shift+tab"):
            self._other_line(child, option.verdict)
        elif name == "enter":
            self._submit(child, at, option.how)
        elif not child.value and option.verdict in (Verdict.DENY, Verdict.DISMISS) and reason_of(name):
            event.stop()
            event.prevent_default()
            child.value = reason_of(name)
            child.cursor_position = len(child.value)
        self.repaint()

    def _other_line(self, child: TypedLine, verdict: Verdict) -> None:
        if "digest" in self.open_fields():
            (self.digest if child is self.line else self.line).focus(scroll_visible=False)
        elif verdict is Verdict.DENY:
            self.look.policy = not self.look.policy

    def _submit(self, child: TypedLine, at: float, how: How) -> None:
        if "digest" in self.open_fields() and child is self.line and self.line.value.strip():
            self.digest.focus(scroll_visible=False)
            return
        if how in (How.APPROVE, How.COMMENT):
            self._comment = self.line.value.strip()
        act = self.guard.submit(at, text=self.line.value, digest_chars=self.digest.value)
        if act.do is Do.ARM:
            self._close()
        self.obey(act)

    # The form of a question

    def is_form_key(self, name: str) -> bool:
        """Whether the form takes this key."""
        return self.is_question and not self.guard.line and name in FORM_KEYS

    def form_key(self, name: str) -> None:
        """Move in the form, choose, or begin to type."""
        card, answer = self.card, self.look.answer
        assert card is not None
        if name in ("j", "down", "tab"):
            answer.cursor += 1
        elif name in ("k", "up", "shift+tab"):
            answer.cursor = max(0, answer.cursor - 1)
        elif name in ("space", "left", "right"):
            question.choose(card, answer)
        elif name == "f":
            self.fold()
        else:
            self._type(card, answer, name)
        question.at_cursor(card, answer)

    def _type(self, card: Card, answer: question.Answer, name: str) -> None:
        item = question.at_cursor(card, answer)
        if item.kind == "field":
            self.look.typing = "field"
            self.field.value = answer.values.get(item.name, "")
            self._show_and_focus(self.field)
            return
        answer.cursor = question.items(card).index(question.Item("text"))
        self.look.typing = "text"
        if self.area.text != answer.text:
            self.area.load_text(answer.text)
            self.area.move_cursor(self.area.document.end)
        self._show_and_focus(self.area)

    def field_key(self, child: TypedLine, event: events.Key) -> None:
        """A key in one field of the form."""
        fresh = event.key == "ctrl+s" or self.guard.typed(event.key, self.at(event), printable=event.is_printable)
        if not fresh or event.key in ("enter", "escape", "tab", "shift+tab", "ctrl+s"):
            event.stop()
            event.prevent_default()
        if not fresh or self.card is None:
            return
        if event.key in ("enter", "escape", "tab", "shift+tab", "ctrl+s"):
            item = question.at_cursor(self.card, self.look.answer)
            if item.kind == "field":
                self.look.answer.values[item.name] = child.value
            self._stop_typing(event)
            if event.key in ("tab", "enter"):
                self.look.answer.cursor += 1

    def area_key(self, child: TypedArea, event: events.Key) -> None:
        """A key in the text: only ctrl+s, Esc and Tab are not text."""
        # ctrl+s is the guard's own key: it is taken down where it is judged.
        fresh = event.key == "ctrl+s" or self.guard.typed(event.key, self.at(event), printable=event.is_printable)
        ends = event.key in ("escape", "ctrl+s", "tab", "shift+tab")
        if not fresh or ends:
            event.stop()
            event.prevent_default()
        if not fresh or not ends:
            return
        if self.look.editing:
            self._edited_here(event)
            return
        self.look.answer.text = child.text
        self._stop_typing(event)
        if event.key == "tab":
            self.look.answer.cursor += 1

    def on_text_area_changed(self, event: TypedArea.Changed) -> None:
        """The draft is kept as it is typed; the text gets the rows it needs."""
        event.stop()
        if self.is_question and self.look.typing == "text":
            self.look.answer.text = self.area.text
            rows = max(2, min(8, self.area.wrapped_document.height))
            if rows != self.look.area_rows:
                self.look.area_rows = rows
            self.repaint()

    def on_input_changed(self, event: TypedLine.Changed) -> None:
        """Typing is the card's own business."""
        event.stop()

    def _stop_typing(self, event: events.Key) -> None:
        at = self.at(event)
        if event.key == "ctrl+s":
            if self.look.answer.is_empty:
                self.post_message(Say("an empty answer is not sent"))
                return
            self.obey(self.guard.key("ctrl+s", at))
            self.repaint()
            return
        self._close()
        self.guard.close_line(at)
        self.repaint()

    # Views

    def fold(self) -> None:
        """All room to the payload, then to the contract, then as it fits."""
        order = {"auto": "payload", "payload": "contract", "contract": "auto"}
        self.look.fold = order[self.look.fold]
        words = {"auto": "as it fits", "payload": "the change has the room", "contract": "nothing is folded"}
        self.post_message(Say(words[self.look.fold]))

    def split_view(self, width: int) -> None:
        """Old and new side by side, where there is room."""
        if width < SPLIT_FROM:
            self.post_message(Say(f"split needs {SPLIT_FROM} columns for the change, this is {width}"))
            return
        self.look.split = not self.look.split

    def aside(self, name: str) -> None:
        """Later, or a message to the run; neither decides anything."""
        card = self.card
        if card is None:
            return
        if name == "z":
            self.post_message(Say("later, expiry runs" if card.left_s is not None else "later, it waits"))
            self.post_message(LeaveCard())
            return
        open_ = next((row for row in card.contract if row.label == "= open" and row.flagged), None)
        about = text.line(card.request.title, limit_cells=120)
        more = f" ({text.line(open_.text, limit_cells=200)})" if open_ else ""
        self.post_message(ComposeMessage(card.request.root, f"About {about}{more}: "))

    # Editing the act

    def _edit(self) -> None:
        card = self.card
        assert card is not None
        name, suffix = EDITABLE.get(card.request.op_kind, ("", ""))
        value = card.request.fields.get(name)
        if not name or not isinstance(value, str):
            self.guard.close_line(self.now())
            self.post_message(Say("nothing of this act can be edited: deny it, with what you want instead"))
            return
        try:
            result = editor.edit(self.app, value, suffix=suffix)
        except editor.NoEditor as fault:
            self._edit_here(value, str(fault))
            return
        # Whatever was typed meanwhile was for the editor.
        self.guard.app_focus(True, self.now())
        self._edited(result, value)

    def _edit_here(self, value: str, why: str) -> None:
        if any(not text.is_safe(row) for row in value.split("\n")) or len(value) > 200_000:
            self.guard.close_line(self.now())
            self.post_message(
                Say(f"{text.line(why)}; this text is too long or holds hidden characters for editing here")
            )
            return
        self.look.editing = True
        self.area.load_text(value)
        self._show_and_focus(self.area)

    def _edited_here(self, event: events.Key) -> None:
        card = self.card
        if card is None or event.key in ("tab", "shift+tab"):
            return
        name, _ = EDITABLE[card.request.op_kind]
        before = str(card.request.fields.get(name, ""))
        self._edited(self.area.text if event.key == "ctrl+s" else None, before)

    def _edited(self, result: str | None, before: str) -> None:
        card = self.card
        assert card is not None
        name, _ = EDITABLE[card.request.op_kind]
        now = self.now()
        if result is None or result == before:
            self.guard.close_line(now)
            self._close()
            self.post_message(Say("not edited"))
        else:
            act = self.guard.edited("e", now)
            if act.do is Do.DECIDE:
                self._send(Verdict.EDIT, "", {"fields": {name: result}})
            else:
                self.guard.close_line(now)
                self._close()
                self.obey(act)
        self.repaint()
