"""One vocabulary, whatever a source calls an action."""

from grounding_rewards.actions import ACTIONS, CLICKS, NAMES, canonical, is_known, normalised, opposite


def test_the_vocabulary_names_itself():
    assert [canonical(name) for name in ACTIONS] == list(ACTIONS)
    assert all(map(is_known, ACTIONS))


def test_every_name_of_every_source_has_one_meaning():
    meanings = [(written, name) for names in NAMES.values() for written, name in names.items()]
    for written, name in meanings:
        assert name in (*ACTIONS, "swipe", "system_button"), written
        assert canonical(written) == name, f"{written} means two things"


def test_names():
    for written, name in [
        ("Tap", "click"), ("tap", "click"), ("CLICK", "click"), ("left_double", "double_click"), ("write", "type"),
        ("press_back", "back"), ("Launch", "open_app"), ("terminate", "finished"), ("PressRecent", "recent"),
        ("longpress", "long_press"), ("TYPE", "type"), ("zoom", "zoom"), ("", ""), ("POINT", "click"),
    ]:  # fmt: skip
        assert canonical(written) == name, (written, name)


def test_an_unknown_name_is_kept_and_known_as_unknown():
    assert (canonical("Teleport"), is_known("Teleport"), is_known("")) == ("Teleport", False, True)


def test_a_click_of_any_kind_counts_as_one_for_recipes_of_places():
    assert {"", "click", "left_click", "Tap", "tripleClick", "LONG_PRESS", "POINT"} <= set(CLICKS)
    assert not {"hover", "drag", "scroll", "type", "mouse_move", "to", "select"} & set(CLICKS)


def test_ways_of_writing_the_same_action_come_down_to_one():
    for name, arguments, expected in [
        ("left_click", {}, ("click", {})),
        ("click", {"button": "right"}, ("right_click", {})),
        ("click", {"button": "left"}, ("click", {})),
        ("system_button", {"button": "Home"}, ("home", {})),
        ("system_button", {"button": "Volume"}, ("key", {"keys": ("volume",)})),
        ("key", {"text": "Return"}, ("enter", {})),
        ("key", {"keys": ("Control", "Shift", "t")}, ("key", {"keys": ("ctrl", "shift", "t")})),
        ("hotkey", {"text": "ctrl c"}, ("key", {"keys": ("ctrl", "c")})),
        ("press", {"text": "+"}, ("key", {"keys": ("+",)})),
        ("press", {"text": "home"}, ("key", {"keys": ("home",)})),
        ("key", {}, ("key", {})),
        ("open", {"text": "Clock"}, ("open_app", {"app": "Clock"})),
        ("open_app", {"app": "Clock", "text": "x"}, ("open_app", {"app": "Clock", "text": "x"})),
        ("swipe", {"direction": "up"}, ("scroll", {"direction": "down", "swiped": True})),
        ("Swipe", {"direction": "LEFT"}, ("scroll", {"direction": "right", "swiped": True})),
        ("swipe", {"to": (500, 900)}, ("scroll", {"to": (500, 900)})),
        ("swipe", {}, ("scroll", {})),
        ("scroll", {"direction": "down"}, ("scroll", {"direction": "down"})),
        ("impossible", {}, ("finished", {"status": "impossible"})),
        ("terminate", {"status": "Failure"}, ("finished", {"status": "Failure"})),
        ("type", {"text": "Hello"}, ("type", {"text": "Hello"})),
        ("IMPOSSIBLE", {}, ("finished", {"status": "impossible"})),
        ("click", {"button": "wheel"}, ("middle_click", {})),
        ("click", {"button": "back"}, ("back_click", {})),
        ("swipe", {"direction": " Up "}, ("scroll", {"direction": "down", "swiped": True})),
        ("key", {"text": "ctrl++"}, ("key", {"keys": ("ctrl", "+")})),
        ("key", {"keys": ("CTRL+C",)}, ("key", {"keys": ("ctrl", "c")})),
        ("key", {"text": "Ctrl-Shift-T"}, ("key", {"keys": ("ctrl", "shift", "t")})),
        ("key", {"text": "page-up"}, ("key", {"keys": ("page-up",)})),
        ("key", {"text": " "}, ("key", {"keys": ("space",)})),
        ("key", {"text": "\n"}, ("enter", {})),
        ("key", {"text": "KEYCODE_BACK"}, ("back", {})),
        ("system_button", {"button": "Recents"}, ("recent", {})),
        ("teleport", {"text": "A"}, ("teleport", {"text": "A"})),
    ]:  # fmt: skip
        given = dict(arguments)
        assert normalised(name, arguments) == expected, (name, arguments, expected)
        assert arguments == given, "what was given stays as it was"
        again = normalised(*expected)
        assert again == expected, (name, arguments, expected)


def test_opposite():
    assert [opposite(each) for each in ("up", "down", "left", "right", "in")] == ["down", "up", "right", "left", "in"]
