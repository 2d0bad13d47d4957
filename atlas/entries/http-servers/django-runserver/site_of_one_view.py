"""A site of two views in one module, as Django's documentation has the smallest; runserver serves it."""
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import path

DEBUG = False
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = __name__
SECRET_KEY = "of the atlas alone"
USE_TZ = True


def whole(_request):
    return HttpResponse("x" * 400, content_type="text/plain", headers={"Content-Length": "400"})


def streamed(_request):
    answer = StreamingHttpResponse(("x" * 100 for _ in range(4)), content_type="text/plain")
    answer["Content-Length"] = "400"
    return answer


urlpatterns = [path("whole", whole), path("streamed", streamed)]
