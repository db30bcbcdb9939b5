"""Recognizes titles and headings (not found, error, HTML sitemap) in the languages of the web.

A heading counts if it says nothing else, or if the rest (mostly the name of the site)
is separated by a delimiter: "Page not found | Example" counts, "How to find pages that
are not found", "Not found: a novel" and "Page not found | Causes and solutions" do not.
"""

from __future__ import annotations

import re
from functools import cache

_PARTS = re.compile(r"\s[\-/<>]++\s|[|｜»«›‹·•–—]++|::|--")
_NO_WORDS = re.compile(r"[\W_]+")
_MAX_CHARS = 300  # maximum length of a heading

_EXCLAMATIONS = r"oops|ooops|ops|uh oh|ups|hoppla|sorry|we re sorry|whoops|oh no|désolé|entschuldigung|lo sentimos"
_ERROR = (
    r"error|fehler|erreur|errore|erro|fout|fel|fejl|feil|virhe|błąd|chyba|hiba|hata|ошибка|помилка"
    r"|エラー|错误|錯誤|오류"
)
_NOT_FOUND = (
    *("not found", "page not found", "file not found", "document not found", "resource not found", "object not found"),
    *("the page was not found", "page cannot be found", "page can t be found", "page could not be found"),
    *("the page cannot be found", "the page you requested was not found", "this page could not be found"),
    *("the page you requested could not be found", "we can t find that page", "page does not exist"),
    *("this page does not exist", "page doesn t exist", "this page doesn t exist", "page missing"),
    *("error 404 not found 1", "we can t find the page you re looking for", "we couldn t find that page"),
    *("the page you were looking for doesn t exist", "the page you were looking for doesn t exist 404"),
    *("nothing found", "that page can t be found", "oops that page can t be found", "no page found"),
    *("the requested url was not found on this server", "the resource cannot be found", "page unavailable"),
    *("nicht gefunden", "seite nicht gefunden", "die seite wurde nicht gefunden", "datei nicht gefunden"),
    *("seite konnte nicht gefunden werden", "die seite konnte nicht gefunden werden", "seite existiert nicht"),
    *("diese seite existiert nicht", "seite nicht vorhanden"),
    *("page introuvable", "page non trouvée", "page inexistante", "la page est introuvable", "non trouvé"),
    *("cette page est introuvable", "cette page n existe pas", "la page n existe pas", "page inconnue"),
    *("no encontrado", "no encontrada", "página no encontrada", "pagina no encontrada", "la página no existe"),
    *("no se encuentra la página", "no se ha encontrado la página", "página no existe", "pàgina no trobada"),
    *("pagina non trovata", "non trovato", "non trovata", "la pagina non esiste", "pagina inesistente"),
    *("página não encontrada", "pagina nao encontrada", "não encontrado", "não encontrada", "página não existe"),
    *("pagina niet gevonden", "niet gevonden", "deze pagina bestaat niet", "sidan hittades inte"),
    *("sidan kunde inte hittas", "sidan finns inte", "siden blev ikke fundet", "siden findes ikke"),
    *("side ikke fundet", "siden ble ikke funnet", "fant ikke siden", "siden finnes ikke", "sivua ei löydy"),
    *("sivua ei löytynyt", "nie znaleziono", "nie znaleziono strony", "strona nie została znaleziona"),
    *("strona nie istnieje", "nie ma takiej strony", "stránka nenalezena", "stránka nebyla nalezena"),
    *("stránka neexistuje", "nenalezeno", "stránka sa nenašla", "stránka nebola nájdená"),
    *("az oldal nem található", "a keresett oldal nem található", "oldal nem található", "nem található"),
    *("pagina nu a fost găsită", "pagina nu există", "sayfa bulunamadı", "bulunamadı", "aradığınız sayfa bulunamadı"),
    *("страница не найдена", "не найдено", "не найдена", "страница не существует", "такой страницы нет"),
    *("нет такой страницы", "сторінку не знайдено", "сторінка не знайдена", "не знайдено"),
    *("страницата не е намерена", "η σελίδα δεν βρέθηκε", "δεν βρέθηκε", "stranica nije pronađena"),
    *("stran ni najdena", "puslapis nerastas", "lapa nav atrasta", "lehte ei leitud", "הדף לא נמצא", "העמוד לא נמצא"),
    *("الصفحة غير موجودة", "لم يتم العثور على الصفحة", "صفحه یافت نشد", "صفحه مورد نظر یافت نشد", "पृष्ठ नहीं मिला"),
    *("ไม่พบหน้า", "ไม่พบหน้าที่คุณต้องการ", "không tìm thấy trang", "trang không tồn tại", "halaman tidak ditemukan"),
    *("ページが見つかりません", "ページが見つかりませんでした", "お探しのページは見つかりませんでした"),
    *("お探しのページが見つかりません", "指定されたページが見つかりません", "页面不存在", "页面未找到", "找不到页面"),
    *("未找到页面", "您访问的页面不存在", "頁面不存在", "找不到網頁", "找不到頁面", "找不到此頁面"),
    *("페이지를 찾을 수 없습니다", "찾을 수 없는 페이지입니다", "존재하지 않는 페이지입니다"),
)
_SITE_MAPS = (
    *("sitemap", "site map", "html sitemap", "site index", "sitemap html", "website sitemap"),
    *("site map html", "website map", "web site map"),
    *("seitenübersicht", "seitenuebersicht", "seitenverzeichnis", "seitenplan"),
    *("plan du site", "plan de site", "carte du site", "plan du site web", "arborescence du site"),
    *("mapa del sitio", "mapa web", "mapa del sitio web", "mapa de sitio", "mapa del web", "mapa del portal"),
    *("mapa do site", "mapa do sítio", "mapa do portal", "mapa de site", "mappa del sito", "mappa sito"),
    *("mappa del sito web", "mappa del portale", "mapa lloc web", "mapa del lloc", "webgune mapa"),
    *("overzicht van de site", "webbkarta", "webbplatskarta", "sajtkarta"),
    *("sidekart", "nettstedskart", "sivukartta", "sivustokartta", "veftré", "mapa strony"),
    *("mapa serwisu", "mapa witryny", "mapa stránek", "mapa webu", "mapa stránok", "oldaltérkép", "honlaptérkép"),
    *("webhelytérkép", "harta site", "harta site ului", "harta site-ului", "site haritası", "mapa stranice"),
    *("mapa weba", "zemljevid strani", "kazalo strani", "карта сайта", "карта сайту", "мапа сайту", "мапа сајта"),
    *("карта на сайта", "мапа на сајтот", "мапа сайта", "χάρτης ιστότοπου", "χάρτης ιστοσελίδας"),
    *("χάρτης ιστοτόπου", "svetainės medis", "svetainės žemėlapis", "lapas karte", "vietnes karte", "sisukaart"),
    *("מפת אתר", "מפת האתר", "خريطة الموقع", "نقشه سایت", "साइटमैप", "แผนผังเว็บไซต์", "แผนผังไซต์"),
    *("sơ đồ trang web", "sơ đồ website", "sơ đồ trang", "peta situs", "peta laman"),
    *("サイトマップ", "网站地图", "站点地图", "網站地圖", "網站導覽", "网站导航图", "사이트맵", "사이트 맵"),
)
_PAGE = r"(?: (?:page|seite|pagina|página|strona|страница|p))?(?: \d{1,4})?"  # of an HTML sitemap with several pages


def _one_of(words: tuple[str, ...]) -> str:
    return "|".join(re.escape(_simplified(word)) for word in words)


def _simplified(text: str) -> str:
    return _NO_WORDS.sub(" ", text.casefold()).strip()


_FAILURE = re.compile(rf"\b(?:{_ERROR}|unavailable|forbidden)\b")


_ABOUT = re.compile(  # words of articles about missing pages, and not of sites
    r"\b(?:ursachen?|behe(?:ben|bung)|bedeut(?:et|ung)|erklärt|warum|causes|how to|meaning|explained|why"
    r"|pourquoi|signification|causas|cómo|significado|perché|significato)\b"
)


@cache  # compiling is slow, and only pages need it
def _not_found() -> re.Pattern[str]:
    return re.compile(
        rf"(?!http 404$)(?:(?:{_EXCLAMATIONS}) )*(?:(?:the|die|la|http|status|code|{_ERROR}|404|e404) )*"
        rf"(?:404|{_one_of(_NOT_FOUND)})(?: (?:{_ERROR}|404|page))*"
    )


@cache
def _site_map() -> re.Pattern[str]:
    return re.compile(rf"(?:{_one_of(_SITE_MAPS)}){_PAGE}")


def says_not_found(heading: str) -> bool:
    """Whether *heading* says that the page does not exist."""
    return _says(heading, _not_found()) and _ABOUT.search(_simplified(heading)) is None


def says_failure(heading: str) -> bool:
    """Whether *heading* mentions an error, whatever else it says."""
    return _FAILURE.search(_simplified(heading)) is not None


def says_site_map(heading: str) -> bool:
    """Whether *heading* says that the page is an HTML sitemap."""
    return _says(heading, _site_map())


def _says(heading: str, what: re.Pattern[str]) -> bool:
    """Whether the first or the last part of *heading*, or all of it, says *what*."""
    if len(heading) > _MAX_CHARS:
        return False
    parts = [part for text in _PARTS.split(heading) if (part := _simplified(text))]
    return any(what.fullmatch(part) for part in (*parts[:1], *parts[-1:], " ".join(parts)))
